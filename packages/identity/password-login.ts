import { failure, type Secret } from '@warder/base'
import { principalNamed, unauthorized } from '@warder/keys'
import type { Outbound, OutboundResponse } from '@warder/outbound'
import { type Principal, peerSecretHeader } from '@warder/server'
import { ClientLimiter } from './places.ts'
import type { RoleReader, StoredRoleClaims } from './roles.ts'
import { sessionIn, textClaim } from './session-answer.ts'
import { parseTypedUser, userName } from './user-name.ts'

/** A user of the authentication service. */
export interface LoginUser {
  readonly realm: string
  /** In the realm. */
  readonly username: string
  /** Name of the user at this service. */
  readonly name: string
}

export interface LoginAnswer {
  /** The next step at the authentication service. */
  readonly nextStep: string
  /** The id of the user who has the name now, if the authentication service returns it. */
  readonly subjectId: string | undefined
  /** For a session of the web page. */
  readonly roleClaims: StoredRoleClaims | undefined
}

export interface PasswordLogin {
  /** Parses a typed name: a name, or `realm/name`. @throws failure('unauthorized') */
  user(typed: string): LoginUser
  /**
   * Checks a password at the authentication service and forwards the client address in `X-Forwarded-For`. The
   * authentication service counts failures by that address if the kms sends the shared secret of the installation or is
   * one of its `audit_trusted_proxy_cidrs`, else by the address of the kms.
   * @throws failure('unauthorized' | 'overloaded')
   */
  check(
    user: LoginUser,
    password: string,
    totpCode: string | undefined,
    clientAddress: string,
  ): Promise<LoginAnswer>
  /** The principal of a request that a login authenticates, with its roles. */
  withRoles(principal: Principal, user: LoginUser, answer: LoginAnswer): Principal
}

/** Logins that may wait for the authentication service at one time. */
const maxWaiting = 32

/**
 * Logs in at the authentication service on behalf of a user. Neither service stores anything of the login: its session
 * is ended at once.
 * @param only the one realm whose users may log in; undefined = every realm
 */
export function passwordLogin(
  url: string,
  only: string | undefined,
  outbound: Outbound,
  roles: RoleReader,
  peerSecret?: Secret,
): PasswordLogin {
  const base = url.replace(/\/+$/, '')
  const places = new ClientLimiter(maxWaiting, 'too many logins are waiting')

  async function ask(
    { realm, username, name }: LoginUser,
    password: string,
    totpCode: string | undefined,
    clientAddress: string,
  ): Promise<LoginAnswer> {
    const query = `?realm=${encodeURIComponent(realm)}`
    const credentials = Buffer.from(`${username}:${password}`, 'utf8').toString('base64')
    const body = Buffer.from(JSON.stringify(totpCode === undefined ? {} : { totp_code: totpCode }))
    try {
      const answer = await outbound.post(`${base}/login${query}`, body, {
        headers: {
          authorization: `Basic ${credentials}`,
          'content-type': 'application/json',
          'x-forwarded-for': clientAddress,
          ...peerSecret?.use((bytes) => ({ [peerSecretHeader]: Buffer.from(bytes).toString('utf8') })),
        },
      })
      const step = nextStep(answer)
      const session = sessionIn(answer)
      await endSession(answer, session?.cookie, query)
      const roleClaims = roles.select(name, { kind: 'session', issuer: realm }, session?.claims ?? {})
      return { nextStep: step, subjectId: textClaim(session, 'as_sid'), roleClaims }
    } catch (cause) {
      if (cause instanceof Error && cause.name === 'Failure') throw cause
      throw failure('overloaded', 'the authentication service does not respond', {
        cause,
        retryAfterSeconds: 1,
      })
    }
  }

  /** @throws failure('overloaded') when the session cannot be ended: it would outlive its purpose */
  async function endSession(
    { body }: OutboundResponse,
    cookie: string | undefined,
    query: string,
  ): Promise<void> {
    const { session_id: id } = JSON.parse(Buffer.from(body).toString('utf8')) as { session_id?: unknown }
    if (cookie === undefined || typeof id !== 'string') return
    const { status } = await outbound.delete(
      `${base}/sessions${query}`,
      Buffer.from(JSON.stringify({ session_ids: [id] })),
      { headers: { cookie, 'content-type': 'application/json' } },
    )
    if (status === 204) return
    const detail = `the session of a login could not be ended: ${status}`
    throw failure('overloaded', detail, { cause: new Error(detail), retryAfterSeconds: 1 })
  }

  return {
    user(typed) {
      const { realm, username } = parseTypedUser(typed, only)
      const name = userName(realm, username, only)
      principalNamed(name, 'session')
      if (username.includes(':'))
        throw unauthorized('a user name with a colon cannot be used in Basic credentials')
      return { realm, username, name }
    },
    check: (user, password, totpCode, clientAddress) =>
      places.hold(clientAddress, () => ask(user, password, totpCode, clientAddress)),
    withRoles: (principal, { realm }, { roleClaims }) =>
      roles.fromStored(principal, { kind: 'session', issuer: realm }, roleClaims),
  }
}

function nextStep({ status, headers, body }: OutboundResponse): string {
  if (status === 429) {
    const wait = Number(headers['retry-after'])
    throw failure('rate_limited', undefined, { retryAfterSeconds: wait >= 1 ? wait : 1 })
  }
  if (status >= 400 && status < 500) throw unauthorized(`the login responded with status ${status}`)
  const answer: unknown = status === 200 ? JSON.parse(Buffer.from(body).toString('utf8')) : undefined
  const step =
    typeof answer === 'object' && answer !== null && 'next_step' in answer ? answer.next_step : undefined
  if (typeof step === 'string') return step
  throw failure('overloaded', `the login responded with status ${status}`, { retryAfterSeconds: 1 })
}
