import type { MaybePromise } from '@warder/foundation/promises'
import { setBounded } from '@warder/foundation/runtime'
import type { Database } from '@warder/foundation/sql'
import type { CipherStream } from '../../../crypto/index.ts'
import { type KmipContext, kmipFailure } from '../engine/index.ts'
import type { CryptographicRequest } from './cryptographic-request.ts'
import { readStoredFirst, requestsBefore, type StagedPart } from './stream.ts'
import type { StreamRow } from './stream-store.ts'

/** A cipher in the middle of a stream. */
export interface RunningCipher {
  readonly first: CryptographicRequest
  readonly cipher: CipherStream
  /** Bytes that had to be run through it again. */
  readonly replayed: number
}

interface Kept {
  readonly tip: string
  readonly first: CryptographicRequest
  readonly cipher: CipherStream
}

/** Ciphers that one worker keeps; the oldest one goes first. What is gone is made again from the parts. */
const maxKept = 256
/** Bytes that may be run through ciphers again for one stream whose parts never reach the same worker twice: some seconds. */
const maxReplayed = 2 ** 31

/** By database, that is by service: each worker has one. */
const kept = new WeakMap<Database, Map<string, Kept>>()

function getKept({ services }: KmipContext): Map<string, Kept> {
  const known = kept.get(services.db)
  if (known !== undefined) return known
  const made = new Map<string, Kept>()
  kept.set(services.db, made)
  return made
}

/** Request of the first part of the stream, without its data if its cipher is kept here. */
export function findFirstRequest(row: StreamRow, context: KmipContext): MaybePromise<CryptographicRequest> {
  const found = getKept(context).get(row.id)
  return found !== undefined && found.tip === row.tip ? found.first : readStoredFirst(row, context)
}

/**
 * The cipher of a stream as it was after the part before: the one that is kept here, if the row says that nobody else
 * took a part since, else a new one after the parts that are stored.
 * @param open makes the cipher anew
 */
export async function resumeCipher(
  row: StreamRow,
  context: KmipContext,
  open: (first: CryptographicRequest) => CipherStream,
): Promise<RunningCipher> {
  const map = getKept(context)
  const found = map.get(row.id)
  // Whatever happens next, this state is used up.
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

/** Keeps the cipher for the next part. If this one is not committed, the row has another tip and nobody takes it. */
export function keep(
  { id, tip }: StagedPart,
  { first, cipher }: Pick<RunningCipher, 'first' | 'cipher'>,
  context: KmipContext,
): void {
  // Only what a later part is compared with: no data is held.
  const kept = { tip, first: { ...first, data: undefined }, cipher }
  setBounded(getKept(context), id, kept, maxKept)
}
