import type { Clock } from '@warder/foundation/runtime'
import type { Seal, SealedPlace } from '@warder/foundation/seal'
import { type Extractor, principalNamed, unauthorized } from './extractor.ts'

export const sessionCookieName = 'auth_session'
/** 24 hours (§8). */
export const sessionSeconds = 86_400

const place: SealedPlace = { table: 'auth_session', row: 'cookie', column: 'value' }
const longestCookie = 4096

interface Content {
  readonly name: string
  readonly realm: string
  /** Unix milliseconds. */
  readonly until: number
}

/** `Set-Cookie` of a new session: sealed by the service's data key, so that every node and every restart reads it. */
export function sessionCookie(
  seal: Seal,
  clock: Clock,
  user: { readonly name: string; readonly realm: string },
) {
  const content: Content = { ...user, until: clock.now() + sessionSeconds * 1000 }
  const value = Buffer.from(seal.seal(place, Buffer.from(JSON.stringify(content)))).toString('base64url')
  return `${sessionCookieName}=${value}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=${sessionSeconds}`
}

export const endedSessionCookie = `${sessionCookieName}=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0`

/** The session of the web page. Two cookies of the name, or one that was not sealed here, are refused. */
export function sessionExtractor(seal: Seal, clock: Clock): Extractor {
  return async (request) => {
    const [value, second] = request.cookies(sessionCookieName)
    if (value === undefined || value === '') return undefined
    if (second !== undefined || value.length > longestCookie)
      throw unauthorized('the session cookie is malformed')
    const { name, realm, until } = await open(seal, value)
    if (clock.now() >= until) throw unauthorized('the session has ended')
    return principalNamed(name, 'session', realm)
  }
}

async function open(seal: Seal, value: string): Promise<Content> {
  try {
    const bytes = await seal.open(place, Buffer.from(value, 'base64url'))
    return JSON.parse(Buffer.from(bytes).toString('utf8')) as Content
  } catch (cause) {
    throw unauthorized('the session cookie was not sealed here', cause)
  }
}
