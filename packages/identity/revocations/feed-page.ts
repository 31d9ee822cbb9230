import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import { JwtRejected, type KeySet, verifyToken } from '@warder/server'

/** An entry of the feed that is not a session. Times are Unix seconds. */
export interface EndedEntry {
  readonly seq: number
  readonly kind: string
  readonly subject: string
  readonly untilAt: number
  readonly endedAt: number
  readonly realm: string
  readonly username: string
}

export interface FeedPage {
  readonly last: number
  readonly head: number
  /** Key of the database that the feed is of. */
  readonly kid: string
  readonly entries: readonly EndedEntry[]
}

/** A page that does not match the request. */
class FeedRefused extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'FeedRefused'
  }
}

export interface FeedSource {
  /** Address of the authentication service. */
  readonly url: string
  readonly outbound: Outbound
  /** Keys of session tokens, by which pages are signed. */
  readonly keys: KeySet
  readonly clock: Clock
  /** Header with the secret of the installation. */
  readonly headers: () => Readonly<Record<string, string>>
  /** Lets go of a question that waits. */
  readonly signal?: AbortSignal
}

/** `aud` of the statement about a page: that of a session token is a list. */
const statementAudience = 'warder:ended'
const statementHeader = 'x-warder-statement'
/** Sequence numbers are kept in 32 bits. */
const maxSeq = 2 ** 32 - 1

/**
 * Requests the entries after `after`. The answer counts when it is signed, about this very question, and in
 * order.
 * @throws FeedRefused, OutboundError
 */
export async function askFeed(
  source: FeedSource,
  question: {
    readonly follower: string
    readonly after: number
    /** Number of the last entry that this service applied: at most `after`. */
    readonly acknowledged: number
    readonly nonce: string
    readonly waitSeconds: number
  },
): Promise<FeedPage> {
  const { follower, after, acknowledged, nonce, waitSeconds } = question
  const query = new URLSearchParams({ follower, after: String(after), nonce, wait: String(waitSeconds) })
  if (acknowledged !== after) query.set('acknowledged', String(acknowledged))
  const answer = await source.outbound.get(`${source.url}/ended?${query}`, {
    headers: source.headers(),
    ...(source.signal !== undefined && { signal: source.signal }),
  })
  if (answer.status !== 200) throw new FeedRefused(`it responded with status ${answer.status}`)
  const { kid, last } = await verifyStatement(source, answer.headers[statementHeader], answer.body, nonce)
  const page = readPage(answer.body)
  if (page.after !== after) throw new FeedRefused('it is not the page after the requested entry')
  if (page.last !== last) throw new FeedRefused('its end differs from its statement')
  return { ...page, kid }
}

async function verifyStatement(
  { keys, clock }: FeedSource,
  statement: string | undefined,
  body: Uint8Array,
  nonce: string,
): Promise<{ readonly kid: string; readonly last: unknown }> {
  if (statement === undefined) throw new FeedRefused('it is not signed')
  const expected = {
    issuer: undefined,
    audience: undefined,
    requiredClaims: ['nonce', 'sha256'],
    leewaySeconds: 300,
  }
  try {
    const { claims, header } = await verifyToken(statement, keys, expected, clock)
    if (claims.aud !== statementAudience)
      throw new FeedRefused('the signed content is not a statement about a page')
    if (claims.nonce !== nonce) throw new FeedRefused('it belongs to another request')
    const digest = Buffer.from(hash('sha256', body, 'base64url'))
    const stated = Buffer.from(String(claims.sha256))
    if (digest.length !== stated.length || !timingSafeEqual(digest, stated))
      throw new FeedRefused('it differs from the signed content')
    return { kid: String(header.kid), last: claims.last }
  } catch (error) {
    if (error instanceof JwtRejected)
      throw new FeedRefused(`its statement is invalid: ${error.message}`, { cause: error })
    throw error
  }
}

function readPage(body: Uint8Array): Omit<FeedPage, 'kid'> & { readonly after: number } {
  // The signature proves that the authentication service wrote it.
  const page: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
  const { after, last, head, entries } = (page ?? {}) as Readonly<Record<string, unknown>>
  if (!isSeq(after) || !isSeq(last) || !isSeq(head) || !Array.isArray(entries))
    throw new FeedRefused('it is not a page')
  let before = after
  const read = entries.map((entry: unknown) => {
    const found = readEntry(entry)
    if (found.seq <= before) throw new FeedRefused('its entries are out of order')
    before = found.seq
    return found
  })
  if (last !== before) throw new FeedRefused('the number of its last entry is wrong')
  return { after, last, head, entries: read }
}

function readEntry(entry: unknown): EndedEntry {
  if (!Array.isArray(entry)) throw new FeedRefused('an entry is not a list')
  const [seq, kind, subject, untilAt, endedAt = 0, realm = '', username = ''] = entry as readonly unknown[]
  if (!isSeq(seq) || !isTime(untilAt) || !isTime(endedAt)) throw new FeedRefused('an entry has no number')
  if (
    typeof kind !== 'string' ||
    typeof subject !== 'string' ||
    typeof realm !== 'string' ||
    typeof username !== 'string'
  )
    throw new FeedRefused('a string of an entry is missing')
  return { seq, kind, subject, untilAt, endedAt, realm, username }
}

function isSeq(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxSeq
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
