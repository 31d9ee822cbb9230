import { createHash, createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type CountBucket,
  isMatchingLine,
  isRecordWhole,
  maxBuckets,
  readPosition,
  type SearchFilter,
  type VerifyResult,
} from '@warder/audit'
import {
  createOutbound,
  type Outbound,
  OutboundError,
  type OutboundSettings,
  readOutboundAccess,
} from '@warder/outbound'

// Nodes of one database request audit records from each other. A request proves by the key of the database that it
// comes from a node; it is bound to the log that is searched, to its body, and to a minute.

/** Header of such a request: time, nonce and proof. */
export const nodeProofHeader = 'x-warder-audit-node'
export const nodePath = '/v1/audit/node'

/** A request to a node. */
export type NodeRequest =
  | {
      readonly type: 'search'
      readonly filter: SearchFilter
      readonly limit: number
      readonly before?: number | undefined
    }
  | {
      readonly type: 'count'
      readonly filter: SearchFilter
      readonly stepMs: number
      readonly before?: number | undefined
    }
  | { readonly type: 'verify' }

/** What a page of one node covers. */
export interface NodeProgress {
  readonly next?: number | undefined
  readonly reached?: number | undefined
  readonly head?: { readonly seq: number; readonly hash: string } | undefined
  readonly problems: readonly string[]
}

/** A page of one node. */
export interface NodePage extends NodeProgress {
  /** Newest first. */
  readonly lines: readonly string[]
}

/** Counts of the records that a page of one node covers. */
export interface NodeCounts extends NodeProgress {
  readonly buckets: readonly CountBucket[]
}

export interface NodeAnswers {
  readonly search: NodePage
  readonly count: NodeCounts
  readonly verify: VerifyResult
}

const domain = 'warder audit node 1'
/** Clocks of nodes may differ by this much. */
const proofMs = 60_000

function computeProof(key: KeyObject, log: string, time: string, nonce: string, body: Uint8Array): Buffer {
  const digest = createHash('sha256').update(body).digest('hex')
  return createHmac('sha256', key)
    .update(JSON.stringify([domain, log, time, nonce, digest]))
    .digest()
}

/** The header of a request to a node. */
function proveNode(key: KeyObject, log: string, body: Uint8Array, now: number): string {
  const time = String(now)
  const nonce = randomBytes(16).toString('base64url')
  return `${time}.${nonce}.${computeProof(key, log, time, nonce, body).toString('base64url')}`
}

/**
 * Whether a request was made by another node of the database, within the last minute, to the node with this log. Names do
 * not tell nodes apart: two homes can have the same.
 */
export function isNodeProof(
  key: KeyObject,
  log: string,
  header: string,
  body: Uint8Array,
  now: number,
): boolean {
  const [, time = '', nonce = '', proof = ''] = /^(\d{1,16})\.([\w-]{22})\.([\w-]{43})$/.exec(header) ?? []
  if (proof === '' || Math.abs(now - Number(time)) > proofMs) return false
  return timingSafeEqual(Buffer.from(proof, 'base64url'), computeProof(key, log, time, nonce, body))
}

/** Pages of other nodes have at most 1000 records of some KiB. */
const maxAnswerBytes = 64 * 2 ** 20
const searchTimeoutMs = 5000
const verifyTimeoutMs = 600_000

/** Asks other nodes. @throws a sentence as an Error when one does not answer */
export interface NodeClient {
  ask<Request extends NodeRequest>(
    node: { readonly log: string; readonly address: string },
    request: Request,
    key: KeyObject,
    now: number,
  ): Promise<NodeAnswers[Request['type']]>
}

export function createNodeClient(config: OutboundSettings, home: string): NodeClient {
  const create = (timeoutMs: number): Outbound =>
    createOutbound({
      ...readOutboundAccess(config, home),
      // The address is a setting of the installation's own nodes.
      allowPrivateNetworks: true,
      maxBytes: maxAnswerBytes,
      timeoutMs,
    })
  const search = create(searchTimeoutMs)
  const clients = { search, count: search, verify: create(verifyTimeoutMs) }
  return {
    async ask<Request extends NodeRequest>(
      { log, address }: { readonly log: string; readonly address: string },
      request: Request,
      key: KeyObject,
      now: number,
    ) {
      if (address === '') throw new Error('node_url is not set there')
      const body = Buffer.from(JSON.stringify(request))
      const headers = {
        'content-type': 'application/json',
        [nodeProofHeader]: proveNode(key, log, body, now),
      }
      const url = `${address.replace(/\/$/, '')}${nodePath}`
      const answer = await clients[request.type].post(url, body, { headers }).catch((error: unknown) => {
        throw new Error(error instanceof OutboundError ? error.message : 'the connection failed')
      })
      if (answer.status === 401)
        throw new Error('another node answers at its address, or the clocks differ by more than a minute')
      if (answer.status !== 200) throw new Error(`it answered with status ${answer.status}`)
      return readAnswer(request, answer.body) as unknown as NodeAnswers[Request['type']]
    },
  }
}

/** @throws Error for an invalid answer */
function readAnswer(request: NodeRequest, body: Uint8Array): NodeAnswers[NodeRequest['type']] {
  const answer = parse(body)
  if (request.type === 'search') return readPage(answer, request)
  return request.type === 'count' ? readCounts(answer, request) : readVerifyResult(answer)
}

/** The year 9999, the last one that RFC 3339 writes. */
const maxTime = 253_402_300_799_999
const maxProblems = 20
const maxProblemLength = 500

/** A page that continues the search, however a node lies. Records that it could not have found are left out and named. */
function readPage(
  answer: Partial<NodePage>,
  { filter, limit, before = Number.MAX_SAFE_INTEGER }: Extract<NodeRequest, { type: 'search' }>,
): NodePage {
  const { lines } = answer
  if (!isTexts(lines) || lines.length > limit) throw malformed()
  let seq = before
  for (const line of lines) {
    const position = readPosition(line)
    if (position === undefined || position.seq >= seq) throw malformed()
    seq = position.seq
  }
  const progress = readProgress(answer, lines.length === 0 ? before - 1 : seq)
  // A line has no control character, such as a newline, in it.
  const matching = lines.filter(
    (line) => !/\p{Cc}/u.test(line) && isRecordWhole(line) && isMatchingLine(line, filter),
  )
  const left = 'it answered with records that were changed or do not match, which were left out'
  const problems = [...progress.problems, ...(matching.length === lines.length ? [] : [left])]
  return { ...progress, lines: matching, problems }
}

/** Counts that continue, however a node lies. They cannot be compared with records. */
function readCounts(
  answer: Partial<NodeCounts>,
  { filter, stepMs, before = Number.MAX_SAFE_INTEGER }: Extract<NodeRequest, { type: 'count' }>,
): NodeCounts {
  const { buckets } = answer
  if (!Array.isArray(buckets) || buckets.length > maxBuckets) throw malformed()
  const { since = 0, until = maxTime } = filter
  let last = since - stepMs
  for (const bucket of buckets as readonly Partial<CountBucket>[]) {
    const { start, records, failures } = bucket ?? {}
    if (!isCount(start) || !isCount(records) || !isCount(failures)) throw malformed()
    if (start % stepMs !== 0 || start <= last || start >= until || failures > records) throw malformed()
    last = start
  }
  const counted = buckets.map(({ start, records, failures }) => ({ start, records, failures }))
  return { ...readProgress(answer, before - 1), buckets: counted }
}

/** @param maxNext number of the newest record before which the next page can begin */
function readProgress(
  { next, reached, head, problems }: Partial<NodeProgress>,
  maxNext: number,
): NodeProgress {
  if (!isTexts(problems)) throw malformed()
  if (!(next === undefined || (isCount(next) && next >= 1 && next <= maxNext))) throw malformed()
  if (!(head === undefined || isPosition(head))) throw malformed()
  if (!(reached === undefined || (isCount(reached) && reached <= maxTime))) throw malformed()
  return {
    next,
    reached,
    head: head && { seq: head.seq, hash: head.hash },
    problems: problems.slice(0, maxProblems).map((problem) => problem.slice(0, maxProblemLength)),
  }
}

function readVerifyResult(answer: Readonly<Record<string, unknown>>): VerifyResult {
  const { ok, records, files, removed, unexplained, unread, head, first, firstBroken, torn } = answer
  const isWhole =
    typeof ok === 'boolean' &&
    [records, files, removed].every(isCount) &&
    [unexplained, unread].every(isTexts) &&
    (head === undefined || isPosition(head)) &&
    (first === undefined || isCount(first)) &&
    (firstBroken === undefined || isBroken(firstBroken)) &&
    (torn === undefined || typeof torn === 'object')
  if (!isWhole) throw malformed()
  return answer as unknown as VerifyResult
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isPosition(value: unknown): value is { readonly seq: number; readonly hash: string } {
  const { seq, hash } = (value ?? {}) as { readonly seq?: unknown; readonly hash?: unknown }
  return isCount(seq) && typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)
}

function isBroken(value: unknown): boolean {
  const { file, line, reason } = (value ?? {}) as Readonly<Record<string, unknown>>
  return typeof file === 'string' && isCount(line) && typeof reason === 'string'
}

function parse(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  } catch {
    // As any other answer that is not one.
  }
  throw malformed()
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function malformed(): Error {
  return new Error('its answer is malformed')
}
