import { BoundedMap } from '@warder/base'
import type { CipherStream } from '@warder/crypto'
import type { Database } from '@warder/storage'
import type { KmipContext } from '../engine/types.ts'
import { kmipFailure } from '../failure/failure.ts'
import type { CryptographicRequest } from './cryptographic-request.ts'
import { readStoredFirst, requestsBefore, type StagedPart, stagePart } from './stream.ts'
import type { StreamRow } from './stream-store.ts'

/** A cipher in the middle of a stream. */
interface RunningCipher {
  readonly first: CryptographicRequest
  readonly cipher: CipherStream
  /** Bytes that had to be processed again. */
  readonly replayed: number
}

interface Kept {
  readonly tip: string
  readonly first: CryptographicRequest
  readonly cipher: CipherStream
}

/**
 * Maximum number of ciphers in the cache of one worker; the oldest one is removed first. A removed cipher is restored
 * from the stored parts.
 */
const maxKept = 256
/**
 * Maximum number of bytes that are processed again for one stream whose parts never reach the same worker twice: some
 * seconds.
 */
const maxReplayed = 2 ** 31

/** Caches by database: each worker has one. */
const kept = new WeakMap<Database, Map<string, Kept>>()

function getKept({ services }: KmipContext): Map<string, Kept> {
  const known = kept.get(services.db)
  if (known !== undefined) return known
  const made = new BoundedMap<string, Kept>(maxKept)
  kept.set(services.db, made)
  return made
}

/** Request of the first part of the stream, without its data if its cipher is cached. */
export async function findFirstRequest(row: StreamRow, context: KmipContext): Promise<CryptographicRequest> {
  const found = getKept(context).get(row.id)
  return found !== undefined && found.tip === row.tip ? found.first : readStoredFirst(row, context)
}

/**
 * The cipher of a stream in its state after the previous part: the cached one, if the row shows that no other worker
 * has processed a part since, else a new one that processes the stored parts.
 * @param open creates the cipher
 */
export async function resumeCipher(
  row: StreamRow,
  context: KmipContext,
  open: (first: CryptographicRequest) => CipherStream,
): Promise<RunningCipher> {
  const map = getKept(context)
  const found = map.get(row.id)
  // In every case this state cannot be used again.
  map.delete(row.id)
  if (found !== undefined && found.tip === row.tip) {
    return { first: found.first, cipher: found.cipher, replayed: 0 }
  }
  if (row.replayed + row.bytes > maxReplayed)
    throw kmipFailure(
      'ServerLimitExceeded',
      'The parts come over too many connections: use one for all of them.',
    )
  const before = await requestsBefore(row, context)
  const cipher = open(before[0])
  for (const { data } of before) if (data !== undefined) cipher.update(data)
  return { first: before[0], cipher, replayed: row.bytes }
}

/**
 * Caches the cipher for the next part. If this part is not committed, the row has another tip and the entry is not
 * used.
 */
export function keep(
  { id, tip }: StagedPart,
  { first, cipher }: Pick<RunningCipher, 'first' | 'cipher'>,
  context: KmipContext,
): void {
  // Only the members that a later part is compared with, without the data.
  const kept = { tip, first: { ...first, data: undefined }, cipher }
  getKept(context).set(id, kept)
}

const nothing = new Uint8Array(0)

/** Processes a part that is not the last one with its cipher, and stores both for the next part. */
export async function middlePart(
  operation: 'Encrypt' | 'Decrypt',
  row: StreamRow | undefined,
  request: CryptographicRequest,
  context: KmipContext,
  running: RunningCipher,
) {
  const out = running.cipher.update(request.data ?? nothing)
  const staged = await stagePart(operation, row, request, context, running.replayed)
  keep(staged, running, context)
  return {
    uniqueIdentifier: context.key.object.id,
    data: partOut(out),
    correlation: staged.correlation,
  }
}

/** Output of a part: empty while the cipher waits for a whole block. */
export function partOut(out: Uint8Array): Uint8Array | undefined {
  return out.length === 0 ? undefined : out
}
