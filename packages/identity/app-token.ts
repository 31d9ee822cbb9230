import { createHash } from 'node:crypto'
import { BoundedMap, type Clock, failure, type Secret } from '@warder/base'
import { principalNamed, unauthorized } from '@warder/keys'
import type { Outbound } from '@warder/outbound'
import {
  type AddressSet,
  addressSet,
  bearerToken,
  type IncomingRequest,
  type Principal,
  peerSecretHeader,
} from '@warder/server'
import type { Extractor } from './cascade.ts'
import { ClientLimiter } from './places.ts'
import type { Ended } from './revocations/ended.ts'

export interface AppTokenOptions {
  /** Base address of the authentication service. */
  readonly url: string
  readonly outbound: Outbound
  readonly clock: Clock
  /** How long an answer is believed. */
  readonly ttlSeconds: number
  /** Revocations of the authentication service: cached results from before one are looked up again. */
  readonly ended?: Ended | undefined
  /** Makes that service trust the client address in the request; undefined: it is another service. */
  readonly peerSecret?: Secret | undefined
}

/** The result of a token lookup. */
interface Answer {
  readonly principal: Principal
  readonly entity: string
  readonly secondsLeft: number
  /** Each lookup counts as a use of the token, so the result must not be cached. */
  readonly countsUses: boolean
  /** Address blocks from which it is used; undefined: from everywhere. */
  readonly addresses: AddressSet | undefined
}

interface Known extends Answer {
  readonly until: number
  /** Position of the revocation feed when the question was asked. */
  readonly position: number
}

const maxTokens = 100_000
const maxTokenLength = 1024
/** A bearer token of this form is no JWT, whose parts are three, and no API token: base64 has no dot. */
const ownForm = /^wt\.[\w-]+$/
/** Look-ups at one time. */
const maxLookups = 256

/**
 * `X-Secret-Token` (or `X-Vault-Token`, or `Authorization: Bearer` for tokens that begin with `wt.`): a machine's token,
 * which the authentication service looks up. The user is `app:` and the token's entity. Refusals are not cached, so a
 * new token works at once. Concurrent look-ups of the same token are one request; too many at once, in total or per
 * address, return 503. A result is discarded when a token of its machine was revoked after the look-up began, or when
 * the revocations since then are unknown.
 */
export function appToken({
  url,
  outbound,
  clock,
  ttlSeconds,
  ended,
  peerSecret,
}: AppTokenOptions): Extractor {
  const known = new BoundedMap<string, Known>(maxTokens)
  const asking = new Map<string, { readonly position: number; readonly answer: Promise<Answer> }>()
  /** A request with a large body is authenticated twice, but counts as one use. */
  const used = new WeakMap<IncomingRequest, Answer>()
  const places = new ClientLimiter(maxLookups, 'too many token lookups are in progress')
  const service: LookupService = {
    outbound,
    address: `${url.replace(/\/+$/, '')}/auth/token/lookup-self`,
    peer: peerSecret?.use((bytes) => ({ [peerSecretHeader]: Buffer.from(bytes).toString('utf8') })),
  }

  return (request) => {
    const token = readAppToken(request)
    if (token === undefined) return undefined
    if (token.length === 0 || token.length > maxTokenLength || !/^[\x21-\x7e]+$/.test(token)) {
      throw unauthorized('the app token is malformed')
    }
    const before = used.get(request)
    if (before !== undefined) return principalAt(before, request)
    const key = createHash('sha256').update(token).digest('base64url')
    const entry = known.get(key)
    const { clientAddress } = request
    if (entry !== undefined && clock.monotonic() < entry.until && counts(entry))
      return principalAt(entry, request)
    known.delete(key)
    const position = ended?.position() ?? 0
    const underWay = asking.get(key)
    // A request that was sent before the last revocation may get an answer from before it, so it is not shared.
    const answer =
      underWay?.position === position
        ? underWay.answer.then((found) => (found.countsUses ? hold(token, clientAddress) : found))
        : ask(key, token, clientAddress, position)
    return answer.then((found) => {
      if (found.countsUses) used.set(request, found)
      return principalAt(found, request)
    })
  }

  function counts({ entity, position }: Known): boolean {
    return ended === undefined || (ended.isCurrent() && ended.machineEndedBy(entity) <= position)
  }

  function hold(token: string, clientAddress: string): Promise<Answer> {
    return places.hold(clientAddress, () => lookUp(service, token, clientAddress))
  }

  function ask(key: string, token: string, clientAddress: string, position: number): Promise<Answer> {
    const began = clock.monotonic()
    const answer = hold(token, clientAddress)
      .then((found) => {
        const seconds = Math.min(ttlSeconds, found.secondsLeft)
        const until = began + seconds * 1000
        if (!found.countsUses) known.set(key, { ...found, position, until })
        return found
      })
      .finally(() => {
        if (asking.get(key)?.answer === answer) asking.delete(key)
      })
    asking.set(key, { position, answer })
    return answer
  }
}

/** The authentication service. */
interface LookupService {
  readonly outbound: Outbound
  readonly address: string
  /** Headers that make it trust the client address; undefined: it is another service. */
  readonly peer: Readonly<Record<string, string>> | undefined
}

async function lookUp(
  { outbound, address, peer }: LookupService,
  token: string,
  clientAddress: string,
): Promise<Answer> {
  const told = peer === undefined ? {} : { 'X-Forwarded-For': clientAddress, ...peer }
  const answer = await outbound
    .get(address, { headers: { 'X-Secret-Token': token, ...told } })
    .catch((cause: unknown) => {
      throw failure('overloaded', 'the authentication service does not respond', {
        cause,
        retryAfterSeconds: 1,
      })
    })
  if (answer.status === 401 || answer.status === 403) throw unauthorized('the app token is not valid')
  if (answer.status !== 200) {
    throw failure('overloaded', `lookup-self responded with status ${answer.status}`, {
      retryAfterSeconds: 1,
    })
  }
  const { entity, ...rest } = subjectIn(answer.body)
  return { entity, principal: principalNamed(`app:${entity}`, 'app_token'), ...rest }
}

/** @throws failure('unauthorized') outside of the addresses of the token */
function principalAt(
  { principal, addresses }: Answer,
  { clientAddress, isAddressKnown }: IncomingRequest,
): Principal {
  if (addresses === undefined) return principal
  if (!isAddressKnown)
    throw unauthorized(
      'the app token is bound to addresses, but the address of the client is hidden by an untrusted proxy',
    )
  if (addresses.contains(clientAddress)) return principal
  throw unauthorized('the app token is bound to other addresses')
}

function readAppToken(request: IncomingRequest): string | undefined {
  const { 'x-secret-token': secret, 'x-vault-token': vault } = request.headers
  const bearer = bearerToken(request)
  const given = [secret, vault, bearer !== undefined && ownForm.test(bearer) ? bearer : undefined]
  const [token, ...others] = given.filter((one) => one !== undefined)
  if (others.some((other) => other !== token)) throw unauthorized('two app tokens')
  return token
}

/**
 * Reads `data.entity_id` of the response; `data.ttl`, 0 for no expiry; `data.num_uses`, 0 for unlimited uses;
 * `data.bound_cidrs`.
 */
function subjectIn(body: Uint8Array): Omit<Answer, 'principal'> {
  let answer: unknown
  try {
    answer = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    throw failure('overloaded', 'the response of lookup-self is not JSON')
  }
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : undefined
  const {
    entity_id: entity,
    ttl,
    num_uses: uses,
    bound_cidrs: blocks,
  } = (typeof data === 'object' ? (data ?? {}) : {}) as Record<string, unknown>
  if (typeof entity !== 'string' || entity === '') throw unauthorized('the app token has no entity')
  return {
    entity,
    secondsLeft: typeof ttl === 'number' && ttl > 0 ? ttl : Number.POSITIVE_INFINITY,
    countsUses: uses !== undefined && uses !== null && uses !== 0,
    addresses: addressesIn(blocks),
  }
}

/** @throws failure('unauthorized') for blocks that cannot be read: their permissions are unknown */
function addressesIn(blocks: unknown): AddressSet | undefined {
  if (blocks === undefined || blocks === null) return undefined
  if (Array.isArray(blocks) && blocks.every((block): block is string => typeof block === 'string')) {
    if (blocks.length === 0) return undefined
    try {
      return addressSet(blocks)
    } catch {
      // Refused below.
    }
  }
  throw unauthorized('the app token is bound to addresses that cannot be read')
}
