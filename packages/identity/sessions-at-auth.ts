import { type Clock, Failure, failure, type Secret } from '@warder/base'
import { unauthorized } from '@warder/keys'
import type { Outbound, OutboundResponse } from '@warder/outbound'
import { httpsProblem } from '@warder/runtime/settings'
import { peerSecretHeader } from '@warder/server'
import { sessionIn, textClaim } from './session-answer.ts'
import { isRealmId } from './user-name.ts'

/** A realm whose users may be redirected back here, and the URL at which their login begins. */
export interface Offer {
  readonly realm_id: string
  readonly login_url: string
}

/** A session that the authentication service has handed over. */
export interface HandedSession {
  readonly username: string
  readonly subjectId: string | undefined
  /** Claims of the session. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly sessionId: string
  /** Handle that ends it there. */
  readonly logoutHandle: string
  /** Unix milliseconds: its end. */
  readonly until: number
}

/** The browser of a hand-over: where it returns, and what proves that it is the one that began. */
export interface HandoverRequest {
  readonly returnTo: string
  readonly state: string
  /** RFC 7636 §4.2, S256. */
  readonly challenge: string
}

export interface SessionsAtAuthOptions {
  /** Of the authentication service, as this one reaches it. */
  readonly url: string
  readonly outbound: Outbound
  readonly clock: Clock
  /** With it the authentication service returns its realms and the URL at which browsers reach it. */
  readonly peerSecret: Secret | undefined
}

const rememberMs = 10_000

/** Requests to the authentication service about sessions that it hands over to this one. */
export class SessionsAtAuth {
  readonly #options: SessionsAtAuthOptions
  readonly #base: string
  #known: { readonly offers: readonly Offer[]; readonly until: number } | undefined

  constructor(options: SessionsAtAuthOptions) {
    this.#options = options
    this.#base = options.url.replace(/\/+$/, '')
  }

  /** Address at which a login of a realm begins, if this service knows it without a request. */
  defaultLoginUrl(realm: string): string {
    return `${this.#base}/saml/${realm}/login`
  }

  /**
   * Realms whose users may be redirected to an address; undefined: the authentication service does not disclose them.
   * @throws failure('auth_unavailable')
   */
  async offers(returnTo: string): Promise<readonly Offer[] | undefined> {
    const { peerSecret, clock, outbound } = this.#options
    if (peerSecret === undefined) return undefined
    if (this.#known !== undefined && clock.monotonic() < this.#known.until) return this.#known.offers
    const url = `${this.#base}/saml/realms?return_to=${encodeURIComponent(returnTo)}`
    const answer = await callAuth(() => outbound.get(url, { headers: this.#peer() }))
    if (answer.status !== 200)
      throw unreachable(new Error(`/saml/realms responded with status ${answer.status}`))
    const offers = offersIn(answer)
    this.#known = { offers, until: clock.monotonic() + rememberMs }
    return offers
  }

  /**
   * Requests the hand-over of a session to a browser of this service.
   * @returns request with which the browser goes to the page of the authentication service
   * @throws failure('auth_unavailable' | 'rate_limited')
   */
  async requestHandover(
    { returnTo, state, challenge }: HandoverRequest,
    clientAddress: string,
  ): Promise<string> {
    const json = { return_to: returnTo, state, code_challenge: challenge }
    const answer = await this.#post('/handover', json, clientAddress)
    const request = answer.status === 200 ? textMember(answer, 'request') : undefined
    if (request !== undefined) return request
    const hint = answer.status === 401 ? ': both services need the same WARDER_PEER_SECRET' : ''
    throw unreachable(
      new Error(`the request for a hand-over was refused with status ${answer.status}${hint}`),
    )
  }

  /**
   * Takes the session of a login that has come back.
   * @throws failure('unauthorized' | 'rate_limited' | 'auth_unavailable')
   */
  async redeem(
    realm: string,
    { code, verifier }: { readonly code: string; readonly verifier: string },
    clientAddress: string,
  ): Promise<HandedSession> {
    const answer = await this.#post(
      `/saml/${realm}/session`,
      { code, code_verifier: verifier },
      clientAddress,
    )
    if (answer.status >= 400 && answer.status < 500)
      throw unauthorized(`the redemption of the code was refused with status ${answer.status}`)
    if (answer.status !== 200)
      throw unreachable(new Error(`the redemption of the code was refused with status ${answer.status}`))
    const session = sessionIn(answer)
    const [username, sessionId] = [textClaim(session, 'sub'), textClaim(session, 'jti')]
    const logoutHandle = textMember(answer, 'logout_handle')
    const claims = session?.claims ?? {}
    const end = claims.exp
    if (
      username === undefined ||
      sessionId === undefined ||
      logoutHandle === undefined ||
      typeof end !== 'number'
    )
      throw unreachable(new Error('the response to the redemption of the code has no session'))
    if (textClaim(session, 'as_rid') !== realm) throw unauthorized('the session belongs to another realm')
    const subjectId = textClaim(session, 'as_sid')
    return { username, claims, sessionId, logoutHandle, subjectId, until: end * 1000 }
  }

  /**
   * Ends a session that was handed over. One that is not there any more is as good.
   * @throws failure('rate_limited' | 'auth_unavailable')
   */
  async end(realm: string, logoutHandle: string, clientAddress: string): Promise<void> {
    const { status } = await this.#post(
      `/saml/${realm}/session/end`,
      { logout_handle: logoutHandle },
      clientAddress,
    )
    if (status >= 500) throw unreachable(new Error(`ending a session was refused with status ${status}`))
  }

  async #post(path: string, json: object, clientAddress: string): Promise<OutboundResponse> {
    const headers = {
      'content-type': 'application/json',
      'x-forwarded-for': clientAddress,
      ...this.#peer(),
    }
    const body = Buffer.from(JSON.stringify(json))
    const answer = await callAuth(() =>
      this.#options.outbound.post(`${this.#base}${path}`, body, { headers }),
    )
    if (answer.status === 429) throw failure('rate_limited', undefined, { retryAfterSeconds: 1 })
    return answer
  }

  #peer(): Readonly<Record<string, string>> {
    const header = this.#options.peerSecret?.use((bytes) => Buffer.from(bytes).toString('utf8'))
    return header === undefined ? {} : { [peerSecretHeader]: header }
  }
}

function offersIn({ body }: OutboundResponse): readonly Offer[] {
  try {
    const { realms } = JSON.parse(Buffer.from(body).toString('utf8')) as { readonly realms: readonly Offer[] }
    return realms.filter(
      ({ realm_id, login_url }) => isRealmId(realm_id) && httpsProblem(login_url) === undefined,
    )
  } catch (cause) {
    throw unreachable(cause)
  }
}

function textMember({ body }: OutboundResponse, name: string): string | undefined {
  try {
    const value = (JSON.parse(Buffer.from(body).toString('utf8')) as Record<string, unknown>)[name]
    return typeof value === 'string' ? value : undefined
  } catch (cause) {
    throw unreachable(cause)
  }
}

async function callAuth(ask: () => Promise<OutboundResponse>): Promise<OutboundResponse> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw unreachable(cause)
  }
}

function unreachable(cause: unknown): Error {
  return failure('auth_unavailable', undefined, { cause, retryAfterSeconds: 1 })
}
