import { createHash } from 'node:crypto'
import { BoundedMap, type Clock, KeyedLimiter } from '@warder/base'
import {
  type CertId,
  certIdHashes,
  findIssuerKey,
  issueOcspResponse,
  type OcspError,
  type OcspRequest,
  type OcspStatus,
  ocspErrorResponse,
  ocspRequestFromPath,
  PkiError,
  readOcspRequest,
} from '@warder/pki'
import { createRowCache, type RowCache } from '@warder/storage'
import { findIssued, issuedTopic, issuedVersion, registerId } from '../register/register-store.ts'
import { createResponders, type KnownIssuer, type ResponderServices } from './responders.ts'

/**
 * Purpose of a signature: `kept`, a response about a certificate of the register, cached for all clients; `once`, a
 * response for one request only, of which any client can request any number.
 */
type SignaturePurpose = 'kept' | 'once'

/** Limits signatures for unauthenticated clients. */
interface SignatureBudget {
  /** false: too many in this second or running now. The caller releases each acquired signature by `done`. */
  take(purpose: SignaturePurpose): boolean
  done(purpose: SignaturePurpose): void
}

const maxUnderWay = 256
/** Max share for `once`: a flood of such requests leaves the rest to cached responses, so revocations are published. */
const shareOfOnce = 3 / 4

/** @param perSecond signatures that begin in one second */
function signatureBudget(clock: Clock, perSecond: number): SignatureBudget {
  const running = new KeyedLimiter(maxUnderWay, maxUnderWay * shareOfOnce)
  const createBegun = () => new KeyedLimiter(perSecond, Math.ceil(perSecond * shareOfOnce))
  let begun = createBegun()
  let second = Number.NEGATIVE_INFINITY
  const owners = { kept: undefined, once: 'once' } as const
  return {
    take(purpose) {
      const now = clock.monotonic()
      if (now - second >= 1000) {
        second = now
        begun = createBegun()
      }
      const owner = owners[purpose]
      if (!running.tryAcquire(owner, 1)) return false
      if (begun.tryAcquire(owner, 1)) return true
      running.release(owner, 1)
      return false
    },
    done(purpose) {
      running.release(owners[purpose], 1)
    },
  }
}

/** An answer, and how long clients may cache it; `fresh` undefined: they may not. */
export interface OcspReply {
  readonly der: Uint8Array
  readonly fresh?: {
    readonly etag: string
    /** Unix milliseconds. */
    readonly producedAt: number
    readonly nextUpdate: number
  }
}

export interface OcspAnswers {
  /** @param path base64 as in the path of a GET */
  forPath(path: string): Promise<OcspReply>
  /** @param request DER */
  forRequest(request: Uint8Array): Promise<OcspReply>
}

const maxStatuses = 20_000
const maxAnswers = 20_000
const maxUnknownAnswers = 1000
const maxPaths = 20_000
/** Longer paths are not cached: they contain several certificates, or a nonce or other extensions. */
const maxKnownPathLength = 512

interface Status {
  readonly status: OcspStatus
  readonly version: number
}

const unknown: Status = { status: { kind: 'unknown' }, version: 0 }

/** Times in Unix milliseconds. */
interface SignedAnswer {
  readonly der: Uint8Array
  readonly producedAt: number
  readonly nextUpdate: number
}

interface KeptAnswer {
  readonly reply: OcspReply
  /** Of the entry in the register; 0: there was none. */
  readonly version: number
  /** Unix milliseconds; it is signed again then, so that clients can cache it for at least half of its validity. */
  readonly until: number
}

/** Data shared by the phases of a response. */
interface AnswerState {
  readonly clock: Clock
  readonly ocspValidityMs: number
  readonly issuers: RowCache<KnownIssuer>
  readonly statuses: RowCache<Status>
  readonly answers: BoundedMap<string, KeptAnswer>
  /** Responses about serial numbers that were never issued; clients can invent any number of these. */
  readonly unknownAnswers: BoundedMap<string, KeptAnswer>
  readonly signing: Map<string, Promise<OcspReply>>
  /** Parsed paths that ask about one certificate without a nonce. */
  readonly paths: BoundedMap<string, CertId>
  readonly budget: SignatureBudget
}

/**
 * OCSP responses (RFC 6960, RFC 5019). A response about a single certificate, without a nonce, is cached for half of
 * its validity or until the certificate's status changes, so that a flood of requests costs no signatures. Other
 * responses are signed one by one, up to the configured number per second, of which a part is reserved for cached
 * responses.
 */
export function createOcspAnswers(services: ResponderServices): OcspAnswers {
  const { clock, revocation } = services
  const state: AnswerState = {
    clock,
    ocspValidityMs: revocation.ocspValidityMs,
    issuers: createResponders(services),
    statuses: createStatuses(services),
    answers: new BoundedMap(maxAnswers),
    unknownAnswers: new BoundedMap(maxUnknownAnswers),
    signing: new Map(),
    paths: new BoundedMap(maxPaths),
    budget: signatureBudget(clock, revocation.freshAnswersPerSecond),
  }
  return {
    forPath: (path) => answerPath(state, path),
    forRequest: async (request) => answerRequest(state, parseRequest(request)),
  }
}

async function answerPath(state: AnswerState, path: string): Promise<OcspReply> {
  const known = state.paths.get(path)
  if (known !== undefined) return answerOne(state, known)
  const request = parseRequest(path)
  const single = request && findSingle(request)
  if (single !== undefined && path.length <= maxKnownPathLength) state.paths.set(path, copyCertId(single))
  return answerRequest(state, request)
}

/** @param source path or DER @returns undefined = it is malformed */
function parseRequest(source: string | Uint8Array): OcspRequest | undefined {
  try {
    return readOcspRequest(typeof source === 'string' ? ocspRequestFromPath(source) : source)
  } catch (error) {
    if (error instanceof PkiError) return undefined
    throw error
  }
}

/** @returns the certificate of a request about a single one, without a nonce */
function findSingle({ certIds, nonce }: OcspRequest): CertId | undefined {
  return certIds.length === 1 && nonce === undefined ? certIds[0] : undefined
}

async function answerRequest(state: AnswerState, request: OcspRequest | undefined): Promise<OcspReply> {
  if (request === undefined || request.certIds.length === 0) return errorReply('malformedRequest')
  const single = findSingle(request)
  return single === undefined ? answerSeveral(state, request) : answerOne(state, single)
}

async function answerOne(state: AnswerState, certId: CertId): Promise<OcspReply> {
  const key = findIssuerKey(certId)
  if (key === undefined) return errorReply('unauthorized')
  const known = await state.issuers.get(key)
  if (known === undefined) return errorReply('unauthorized')
  const status = await state.statuses.get(registerId(known.issuer, certId.serial))
  return getOrSign(state, certId, known, status ?? unknown)
}

/**
 * Does not await between the look-up in `signing` and the entry there, so that concurrent requests share a signature.
 */
async function getOrSign(
  state: AnswerState,
  certId: CertId,
  known: KnownIssuer,
  status: Status,
): Promise<OcspReply> {
  const { answers, unknownAnswers, signing, clock } = state
  const key = toCacheKey(certId)
  const cache = status === unknown ? unknownAnswers : answers
  const kept = cache.get(key)
  if (kept !== undefined && kept.version === status.version && isInForce(kept, clock.now())) return kept.reply
  const signingKey = `${status.version} ${key}`
  const pending = signing.get(signingKey)
  if (pending !== undefined) return pending
  const purpose = status === unknown ? 'once' : 'kept'
  const signed = withinBudget(state, purpose, () =>
    signResponse(state, [{ certId, status }], known, undefined),
  )
    .then((answer) => {
      if (!('nextUpdate' in answer)) return answer
      const fresh = toKeptAnswer(answer, status.version)
      cache.set(key, fresh)
      return fresh.reply
    })
    .finally(() => signing.delete(signingKey))
  signing.set(signingKey, signed)
  return signed
}

async function answerSeveral(state: AnswerState, { certIds, nonce }: OcspRequest): Promise<OcspReply> {
  const { issuers, statuses } = state
  const keys = new Set(certIds.map(findIssuerKey))
  // The responder is authorised for one issuer, which has as many names as there are hashes.
  if (keys.size > certIdHashes.length) return errorReply('unauthorized')
  const found = await Promise.all([...keys].map((key) => (key === undefined ? undefined : issuers.get(key))))
  const [known] = found
  if (known === undefined || found.some((other) => other?.issuer !== known.issuer))
    return errorReply('unauthorized')
  return withinBudget(state, 'once', async () => {
    const about = []
    for (const certId of certIds) {
      const status = await statuses.get(registerId(known.issuer, certId.serial))
      about.push({ certId, status: status ?? unknown })
    }
    const { der } = await signResponse(state, about, known, nonce)
    return { der }
  })
}

/** A request over the budget is refused before any look-up. */
async function withinBudget<R>(
  { budget }: AnswerState,
  purpose: SignaturePurpose,
  work: () => Promise<R>,
): Promise<R | OcspReply> {
  if (!budget.take(purpose)) return errorReply('tryLater')
  try {
    return await work()
  } finally {
    budget.done(purpose)
  }
}

async function signResponse(
  { clock, ocspValidityMs }: AnswerState,
  about: readonly { readonly certId: CertId; readonly status: Status }[],
  known: KnownIssuer,
  nonce: Uint8Array | undefined,
): Promise<SignedAnswer | OcspReply> {
  const responder = await known.responder()
  const producedAt = Math.floor(clock.now() / 1000) * 1000
  if (responder === undefined || responder.notAfter <= producedAt) return errorReply('tryLater')
  const nextUpdate = Math.min(producedAt + ocspValidityMs, responder.notAfter)
  const times = { thisUpdate: producedAt, nextUpdate }
  const single = about.map(({ certId, status: { status } }) => ({ certId, status, ...times }))
  const der = await issueOcspResponse({ answers: single, producedAt, nonce }, responder.by)
  return { der, producedAt, nextUpdate }
}

function toKeptAnswer({ der, producedAt, nextUpdate }: SignedAnswer, version: number): KeptAnswer {
  const etag = `"${createHash('sha1').update(der).digest('hex')}"`
  return {
    reply: { der: Uint8Array.from(der), fresh: { etag, producedAt, nextUpdate } },
    version,
    until: producedAt + (nextUpdate - producedAt) / 2,
  }
}

/** Whether clients accept the response now: a node with a fast clock may have dated it too far ahead. */
function isInForce({ reply: { fresh }, until }: KeptAnswer, now: number): boolean {
  return now < until && (fresh === undefined || fresh.producedAt <= now)
}

/** Status of certificates in the register; undefined for others. */
function createStatuses({ db, clock, leaseMs }: ResponderServices): RowCache<Status> {
  return createRowCache<Status>({
    db,
    topic: issuedTopic,
    version: issuedVersion,
    async load(id) {
      const entry = await findIssued(db, id)
      if (entry === undefined) return undefined
      const { revokedAt, reason, version } = entry
      const status: OcspStatus =
        revokedAt === undefined ? { kind: 'good' } : { kind: 'revoked', revokedAt, reason }
      return { version, value: { status, version } }
    },
    capacity: maxStatuses,
    leaseMs,
    clock,
  })
}

/** A copy, because a view would keep the whole source buffer in memory. */
function copyCertId(certId: CertId): CertId {
  const copy = (bytes: Uint8Array): Uint8Array => Uint8Array.from(bytes)
  const { der, hash, issuerNameHash, issuerKeyHash, serial } = certId
  return {
    der: copy(der),
    hash,
    issuerNameHash: copy(issuerNameHash),
    issuerKeyHash: copy(issuerKeyHash),
    serial: copy(serial),
  }
}

function toCacheKey({ der }: CertId): string {
  return Buffer.from(der.buffer, der.byteOffset, der.byteLength).toString('latin1')
}

const errors = new Map<OcspError, OcspReply>()

/** An error response: neither signed nor cached. */
function errorReply(error: OcspError): OcspReply {
  const known = errors.get(error) ?? { der: ocspErrorResponse(error) }
  errors.set(error, known)
  return known
}
