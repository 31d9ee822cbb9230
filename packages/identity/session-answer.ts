import type { OutboundResponse } from '@warder/outbound'

/** Session in the authentication service's answer to a login. */
export interface AnsweredSession {
  /** `_ea_=…`. */
  readonly cookie: string
  /** Claims of its token. They are not verified: the authentication service sent them in this exchange. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** undefined if the answer has no session cookie. */
export function sessionIn({ headers }: OutboundResponse): AnsweredSession | undefined {
  const cookie = /(?:^|, )(_ea_=[^;,\s]+)/.exec(headers['set-cookie'] ?? '')?.[1]
  return cookie === undefined ? undefined : { cookie, claims: claimsIn(cookie) }
}

function claimsIn(cookie: string): Readonly<Record<string, unknown>> {
  const [, payload = ''] = cookie.split('.')
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** A claim that is a text; undefined for anything else. */
export function textClaim(session: AnsweredSession | undefined, name: string): string | undefined {
  const value = session?.claims[name]
  return typeof value === 'string' ? value : undefined
}
