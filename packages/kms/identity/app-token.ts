import { createHash } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import type { IncomingRequest, Principal } from '@warder/foundation/operations'
import type { Outbound } from '@warder/foundation/outbound'
import { type Clock, setBounded } from '@warder/foundation/runtime'
import type { Ended } from '../ended/index.ts'
import { bearerToken, type Extractor, principalNamed, unauthorized } from './extractor.ts'
import { Places } from './places.ts'

export interface AppTokenOptions {
  /** Base address of the authentication service. */
  readonly url: string
  readonly outbound: Outbound
  readonly clock: Clock
  /** How long an answer is believed. */
  readonly ttlSeconds: number
  /** Ends at the authentication service: earlier answers are asked for again. */
  readonly ended?: Ended | undefined
}

interface Known {
  readonly principal: Principal
  readonly entity: string
  readonly until: number
  /** Position of the feed of ends when the question was asked. */
  readonly position: number
}

const mostTokens = 100_000
const longestToken = 1024
/** A bearer token of this form is no JWT, whose parts are three, and no API token: base64 has no dot. */
const ownForm = /^wt\.[\w-]+$/
/** Look-ups at one time. */
const mostLookups = 256

/**
 * `X-Secret-Token` (or `X-Vault-Token`, or `Authorization: Bearer` for tokens that begin with `wt.`): a machine's token,
 * which the authentication service is asked about. The user is `app:` and the token's entity. Refusals are not remembered, so that a new token works at once; look-ups of the
 * same token at the same time are one; too many at once, in all or from one address, answer 503. An answer counts no
 * longer when a token of its machine has ended since it was asked for, or when nobody can say that none has.
 */
export function appToken({ url, outbound, clock, ttlSeconds, ended }: AppTokenOptions): Extractor {
  const known = new Map<string, Known>()
  const asking = new Map<string, { readonly position: number; readonly answer: Promise<Principal> }>()
  const places = new Places(mostLookups, 'too many tokens are being looked up')
  const address = `${url.replace(/\/+$/, '')}/auth/token/lookup-self`

  return (request) => {
    const token = tokenOf(request)
    if (token === undefined) return undefined
    if (token.length === 0 || token.length > longestToken || !/^[\x21-\x7e]+$/.test(token)) {
      throw unauthorized('the app token is malformed')
    }
    const key = createHash('sha256').update(token).digest('base64url')
    const entry = known.get(key)
    if (entry !== undefined && clock.monotonic() < entry.until && counts(entry)) return entry.principal
    known.delete(key)
    const position = ended?.position() ?? 0
    const underWay = asking.get(key)
    // One that was asked before something ended may be answered as of before.
    if (underWay?.position === position) return underWay.answer
    return ask(key, token, request.clientAddress, position)
  }

  function counts({ entity, position }: Known): boolean {
    return ended === undefined || (ended.isCurrent() && ended.machineEndedBy(entity) <= position)
  }

  function ask(key: string, token: string, clientAddress: string, position: number): Promise<Principal> {
    const began = clock.monotonic()
    const answer = places
      .hold(clientAddress, () => lookUp(token))
      .then(({ entity, principal, secondsLeft }) => {
        const seconds = Math.min(ttlSeconds, secondsLeft)
        setBounded(known, key, { entity, principal, position, until: began + seconds * 1000 }, mostTokens)
        return principal
      })
      .finally(() => {
        if (asking.get(key)?.answer === answer) asking.delete(key)
      })
    asking.set(key, { position, answer })
    return answer
  }

  async function lookUp(token: string): Promise<{
    readonly entity: string
    readonly principal: Principal
    readonly secondsLeft: number
  }> {
    const answer = await outbound
      .get(address, { headers: { 'X-Secret-Token': token } })
      .catch((cause: unknown) => {
        throw failure('overloaded', 'the authentication service does not answer', {
          cause,
          retryAfterSeconds: 1,
        })
      })
    if (answer.status === 401 || answer.status === 403) throw unauthorized('the app token is not valid')
    if (answer.status !== 200) {
      throw failure('overloaded', `lookup-self answered ${answer.status}`, { retryAfterSeconds: 1 })
    }
    const { entity, secondsLeft } = subjectIn(answer.body)
    return { entity, principal: principalNamed(`app:${entity}`, 'app_token'), secondsLeft }
  }
}

function tokenOf(request: IncomingRequest): string | undefined {
  const { 'x-secret-token': secret, 'x-vault-token': vault } = request.headers
  const bearer = bearerToken(request)
  const given = [secret, vault, bearer !== undefined && ownForm.test(bearer) ? bearer : undefined]
  const [token, ...others] = given.filter((one) => one !== undefined)
  if (others.some((other) => other !== token)) throw unauthorized('two app tokens')
  return token
}

/** `data.entity_id` of the answer, and `data.ttl`, where 0 is a token that does not end. */
function subjectIn(body: Uint8Array): { readonly entity: string; readonly secondsLeft: number } {
  let answer: unknown
  try {
    answer = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    throw failure('overloaded', 'lookup-self did not answer JSON')
  }
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : undefined
  const { entity_id: entity, ttl } = (typeof data === 'object' ? (data ?? {}) : {}) as Record<string, unknown>
  if (typeof entity !== 'string' || entity === '') throw unauthorized('the app token has no entity')
  return { entity, secondsLeft: typeof ttl === 'number' && ttl > 0 ? ttl : Number.POSITIVE_INFINITY }
}
