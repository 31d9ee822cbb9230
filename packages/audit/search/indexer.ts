import type { KeyObject } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { canRead, isCompressedName, isEncryptedName, type LogKeys } from '../encrypted-bytes.ts'
import { readLines } from '../lines.ts'
import { type ChainHead, genesis } from '../record.ts'
import { listSegmentNumbers, readSegment, type Segment } from '../segments.ts'
import { type IndexStore, openOrCreateIndex } from './index-store.ts'
import { openBlocks, PartBuilder, type PartRange, type SealedPart } from './part.ts'
import { parseProperties, readPosition, readProperties, TermMaker } from './terms.ts'

/** How a log is found and read. Plain data: it crosses threads. */
export interface IndexedLog {
  readonly folder: string
  /** For encrypted files. */
  readonly keys: LogKeys
  readonly indexKey: KeyObject
}

/** Parts that are committed together while the index catches up. */
const partsPerCommit = 16

export interface IndexRound {
  /** The number of the last record up to which nothing is missing that can be in the index now. */
  readonly indexed: number
  readonly added: number
  /** Files whose parts were of another log, or damaged, and are made again. */
  readonly rebuilt: readonly number[]
}

/**
 * Adds missing parts to the index: all complete parts, and the last part of each closed file. Parts that do
 * not fit the files are removed and made again. It may be interrupted at any time.
 */
export async function extendIndex(log: IndexedLog): Promise<IndexRound> {
  const store = await openOrCreateIndex(log.folder)
  try {
    const numbers = listSegmentNumbers(log.folder)
    const rebuilt: number[] = []
    for (const segment of await store.segments())
      if (!numbers.includes(segment)) await store.forget(segment, await store.parts(segment))
    let indexed = 0
    let added = 0
    for (const [index, first] of numbers.entries()) {
      const segment = readSegment(log.folder, first)
      const isClosed = index < numbers.length - 1
      const done = await extendSegment(log, store, segment, isClosed)
      indexed = Math.max(indexed, done.last)
      added += done.added
      if (done.rebuilt) rebuilt.push(first)
    }
    return { indexed, added, rebuilt }
  } finally {
    await store.close()
  }
}

async function extendSegment(
  log: IndexedLog,
  store: IndexStore,
  segment: Segment,
  isClosed: boolean,
): Promise<{ readonly last: number; readonly added: number; readonly rebuilt: boolean }> {
  const { firstSeq, path, signed } = segment
  const stored = await store.parts(firstSeq)
  if (path === undefined) {
    if (stored.length > 0) await store.forget(firstSeq, stored)
    return { last: signed?.checkpoint.last_seq ?? 0, added: 0, rebuilt: false }
  }
  if (!canRead(path, log.keys)) return { last: 0, added: 0, rebuilt: false }
  const known = await readKnownParts(log, store, segment, stored)
  const rebuilt = known.parts.length < stored.length
  if (rebuilt) await store.forget(firstSeq, stored)
  const from = rebuilt ? startOfSegment(segment) : known
  if (signed !== undefined && from.head?.seq === signed.checkpoint.last_seq)
    return { last: from.head.seq, added: 0, rebuilt }
  const { last, added } = await addParts(log, store, segment, from, isClosed)
  return { last, added, rebuilt }
}

/** End of the index of a file. */
export interface KnownParts {
  readonly parts: readonly PartRange[]
  /** State of the chain after them; undefined = there are none, and the file says where it begins. */
  readonly head: ChainHead | undefined
  /** Offset after them, in the current file; 0 for an archived one, which is read from its beginning. */
  readonly next: number
}

function startOfSegment({ firstSeq, signed }: Segment): KnownParts {
  const { first_prev: prev } = signed?.checkpoint ?? {}
  const hash = firstSeq === 1 ? genesis : prev
  return { parts: [], head: hash === undefined ? undefined : { seq: firstSeq - 1, hash }, next: 0 }
}

/**
 * The parts of a file that fit it: each follows the one before, none passes the end of the file, and the last
 * record is the one that the checkpoint names or that the file has at this place.
 * @returns fewer parts than are stored if one does not match; then the caller must use none
 */
export async function readKnownParts(
  { indexKey }: Pick<IndexedLog, 'indexKey'>,
  store: IndexStore | undefined,
  segment: Segment,
  stored: readonly PartRange[],
): Promise<KnownParts> {
  const none = startOfSegment(segment)
  const last = stored.at(-1)
  if (last === undefined || segment.path === undefined) return none
  let head = none.head
  for (const { first, last: end, prevHash, lastHash } of stored) {
    if (first !== (head === undefined ? segment.firstSeq : head.seq + 1) || end < first) return none
    if (head !== undefined && prevHash !== head.hash) return none
    head = { seq: end, hash: lastHash }
  }
  const checkpoint = segment.signed?.checkpoint
  if (checkpoint !== undefined && last.last > checkpoint.last_seq) return none
  if (checkpoint?.last_seq === last.last && checkpoint.last_hash !== last.lastHash) return none
  const sealed = await store?.content(last, 'blocks')
  const opened = sealed === undefined ? undefined : openBlocks(indexKey, last, sealed)
  if (opened === undefined) return none
  const isArchived = isCompressedName(segment.path)
  if (
    !isArchived &&
    !isEncryptedName(segment.path) &&
    !endsWithRecord(segment.path, opened.next, last.lastHash)
  )
    return none
  return { parts: stored, head, next: isArchived ? 0 : opened.next }
}

const endLength = 64 + '"}\n'.length

/** Whether the record with this hash ends at this offset. */
function endsWithRecord(path: string, at: number, hash: string): boolean {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(endLength)
    const length = at < endLength ? 0 : readSync(file, bytes, 0, endLength, at - endLength)
    return length === endLength && bytes.toString('latin1') === `${hash}"}\n`
  } finally {
    closeSync(file)
  }
}

async function addParts(
  { keys, indexKey }: IndexedLog,
  store: IndexStore,
  { firstSeq, path = '' }: Segment,
  { head: known, next: from }: KnownParts,
  isClosed: boolean,
): Promise<{ readonly last: number; readonly added: number }> {
  const terms = new TermMaker()
  const waiting: SealedPart[] = []
  let added = 0
  let head = known
  let part: PartBuilder | undefined
  let last = known?.seq ?? 0
  const flush = async (): Promise<void> => {
    if (waiting.length === 0) return
    await store.add(waiting)
    last = waiting.at(-1)?.range.last ?? last
    added += waiting.length
    waiting.length = 0
  }
  let next = from
  for await (const line of readLines(path, { from, keys })) {
    if (!line.whole || line.damage !== undefined) break
    const text = line.bytes.toString('latin1')
    const position = readPosition(text)
    if (position === undefined) break
    if (known !== undefined && position.seq <= known.seq) continue
    head ??= readHeadBefore(text, position.seq)
    // Records that do not follow each other are not indexed: a search reads and reports them.
    if (head === undefined || position.seq !== head.seq + 1) break
    const properties = readProperties(text) ?? parseProperties(text)
    if (properties === undefined) break
    part ??= new PartBuilder(firstSeq, head, terms)
    part.add(properties, line.at, position.hash)
    head = position
    next = line.next
    if (!part.isFull) continue
    waiting.push(part.build(indexKey, next))
    part = undefined
    if (waiting.length === partsPerCommit) await flush()
  }
  if (isClosed && part !== undefined) waiting.push(part.build(indexKey, next))
  await flush()
  return { last, added }
}

/** State of the chain before a record, as declared in the record. */
function readHeadBefore(line: string, seq: number): ChainHead | undefined {
  const at = line.lastIndexOf(',"prev":"') + ',"prev":"'.length
  const hash = line.slice(at, at + 64)
  return /^[0-9a-f]{64}$/.test(hash) ? { seq: seq - 1, hash } : undefined
}
