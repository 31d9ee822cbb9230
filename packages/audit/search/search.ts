import { closeSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { escapeHidden } from '@warder/base'
import { checkRecord } from '../check-record.ts'
import { canRead, isCompressedName, isEncryptedName } from '../encrypted-bytes.ts'
import { readLines } from '../lines.ts'
import type { ChainHead } from '../record.ts'
import { formatSegmentName, listSegmentNumbers, readSegment, type Segment } from '../segments.ts'
import {
  type Collector,
  type CountBucket,
  CountCollector,
  type FoundRecord,
  RecordCollector,
} from './collectors.ts'
import { type IndexStore, openIndex } from './index-store.ts'
import { type IndexedLog, type KnownParts, readKnownParts } from './indexer.ts'
import { type Block, findBlocks, openBlocks, type PartRange } from './part.ts'
import {
  isMatchingLine,
  matchesSearch,
  parseLine,
  readPosition,
  type SearchFilter,
  type Terms,
  toTerms,
} from './terms.ts'

interface WalkRequest extends IndexedLog {
  readonly filter: SearchFilter
  /** Only records with a smaller number; undefined = the newest first. */
  readonly before?: number | undefined
  /** After this number of milliseconds the page ends with what was found so far. */
  readonly budgetMs: number
}

export interface SearchRequest extends WalkRequest {
  readonly limit: number
}

export interface CountRequest extends WalkRequest {
  readonly stepMs: number
}

interface WalkedPage {
  /** `before` of the next page; undefined = the beginning of the log was reached. */
  readonly next: number | undefined
  /** The records since this time (Unix milliseconds) were searched, where it is known; undefined = all. */
  readonly reached: number | undefined
  /** The last record of the log; known where the search began there. */
  readonly head: ChainHead | undefined
  /** Sentences about records that were left out, and about an index that was not used. */
  readonly problems: readonly string[]
}

export interface SearchPage extends WalkedPage {
  /** Newest first. Each was read from the log, and its hash checked in the chain. */
  readonly records: readonly FoundRecord[]
}

export interface CountPage extends WalkedPage {
  /** By time; intervals without a matching record are left out. */
  readonly buckets: readonly CountBucket[]
}

/**
 * Finds records, newest first. The index only says which blocks of a file to read; what is not in the index is read as a
 * whole. Records whose hashes do not fit the chain are left out and named.
 */
export async function searchLog(request: SearchRequest): Promise<SearchPage> {
  const collector = new RecordCollector(request.limit)
  const page = await walkLog(request, collector)
  return { records: collector.records, ...page }
}

/**
 * Counts records and failures in intervals, newest first. Without a filter but times, the counts of blocks are those of
 * the index; other blocks are read.
 */
export async function countLog(request: CountRequest): Promise<CountPage> {
  const collector = new CountCollector(request)
  const page = await walkLog(request, collector)
  return { buckets: collector.buckets, ...page }
}

async function walkLog(request: WalkRequest, collector: Collector): Promise<WalkedPage> {
  const index = await openIndex(request.folder)
  try {
    return await new Search(request, index, collector).run()
  } finally {
    await index?.close()
  }
}

const maxProblems = 20

class Search {
  readonly #request: WalkRequest
  readonly #index: IndexStore | undefined
  readonly #collector: Collector
  readonly #terms: Terms
  readonly #problems = new Set<string>()
  readonly #deadline: number
  #head: ChainHead | undefined
  /** The search continues before this record. */
  #position: number
  /** State before the file that is searched. */
  #before = { undo: (): void => undefined, position: 0 }
  /** The time of the oldest block that was searched, Unix milliseconds. */
  #reached: number | undefined
  /** Each page passes a part of the log, however little time it has. */
  #hasProgress = false

  constructor(request: WalkRequest, index: IndexStore | undefined, collector: Collector) {
    this.#request = request
    this.#index = index
    this.#collector = collector
    this.#terms = toTerms(request.filter)
    this.#deadline = performance.now() + request.budgetMs
    this.#position = request.before ?? Number.POSITIVE_INFINITY
  }

  async run(): Promise<WalkedPage> {
    const numbers = listSegmentNumbers(this.#request.folder).filter((first) => first < this.#position)
    for (const [index, first] of numbers.toReversed().entries()) {
      await this.#searchSegment(first, index === 0)
      this.#hasProgress = true
      if (this.#isOver()) break
    }
    const isDone = this.#position <= (numbers[0] ?? 1)
    return {
      next: isDone ? undefined : this.#position,
      reached: isDone ? undefined : this.#reached,
      head: this.#head,
      problems: [...this.#problems],
    }
  }

  #isOver(): boolean {
    if (this.#collector.isFull) return true
    return this.#hasProgress && performance.now() > this.#deadline
  }

  #report(problem: string): void {
    if (this.#problems.size < maxProblems) this.#problems.add(problem)
  }

  async #searchSegment(first: number, isNewest: boolean): Promise<void> {
    try {
      await this.#searchFile(readSegment(this.#request.folder, first), isNewest)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
      // It was archived meanwhile. The records found in it so far are behind the position.
      await this.#searchFile(readSegment(this.#request.folder, first), isNewest)
    }
  }

  async #searchFile(segment: Segment, isNewest: boolean): Promise<void> {
    const { path, firstSeq } = segment
    this.#before = { undo: this.#collector.mark(), position: this.#position }
    if (path === undefined) {
      this.#report(`${formatSegmentName(segment)} was removed: its records are not searched`)
      this.#position = firstSeq
      return
    }
    if (!canRead(path, this.#request.keys)) {
      this.#report(
        `${basename(path)} is encrypted with a key that is not available: its records are not searched`,
      )
      this.#position = firstSeq
      return
    }
    const known = await this.#readKnown(segment)
    const end = known.head?.seq ?? 0
    const isWhole = segment.signed !== undefined && segment.signed.checkpoint.last_seq === end
    if (isWhole) {
      if (isNewest && this.#request.before === undefined) this.#head = known.head
    } else if (this.#position > end + 1) {
      const fits = await this.#scan(path, known, isNewest)
      if (!fits) return this.#searchWithoutIndex(segment, path, isNewest)
      if (this.#collector.isFull) return
      this.#position = Math.min(this.#position, Math.max(end + 1, firstSeq))
    }
    for (const part of known.parts.toReversed()) {
      if (part.first >= this.#position) continue
      if (this.#isOver()) return
      if (!(await this.#searchPart(part, path))) return this.#searchWithoutIndex(segment, path, isNewest)
      if (this.#position <= part.first) this.#reached = part.minTime
      this.#hasProgress = true
    }
  }

  /** The whole file, since its part of the index does not fit it. Records found in it by the index are discarded. */
  async #searchWithoutIndex(segment: Segment, path: string, isNewest: boolean): Promise<void> {
    const name = basename(path)
    this.#report(`the index of ${name} did not match the log: it was not used, and is made again`)
    await this.#forget(segment)
    this.#before.undo()
    this.#position = this.#before.position
    await this.#scan(path, await this.#readStart(segment), isNewest)
    if (!this.#collector.isFull) this.#position = segment.firstSeq
  }

  /** The index is made again by its keeper, who finds that the parts are missing. */
  async #forget({ firstSeq }: Segment): Promise<void> {
    try {
      await this.#index?.forget(firstSeq, await this.#index.parts(firstSeq))
    } catch {
      // It cannot be written, or is being replaced.
    }
  }

  /** The beginning of a file of which nothing is known. */
  #readStart(segment: Segment): Promise<KnownParts> {
    return readKnownParts(this.#request, undefined, segment, [])
  }

  async #readKnown(segment: Segment): Promise<KnownParts> {
    const index = this.#index
    if (index === undefined) return this.#readStart(segment)
    const stored = await index.parts(segment.firstSeq).catch(() => [])
    const known = await readKnownParts(this.#request, index, segment, stored)
    if (known.parts.length < stored.length) {
      this.#report(
        `the index of ${formatSegmentName(segment)} did not match the log: it was not used, and is made again`,
      )
      await this.#forget(segment)
    }
    return known
  }

  /**
   * Reads the records behind the index, in their order, and keeps the newest ones that match.
   * @returns false when they do not follow the records before them in the index
   */
  async #scan(path: string, known: KnownParts, isNewest: boolean): Promise<boolean> {
    const { filter, keys } = this.#request
    const after = known.head?.seq ?? 0
    const isAny = isEverything(filter)
    const draft = this.#collector.begin()
    let head = known.head
    for await (const { bytes, whole, damage } of readLines(path, { from: known.next, keys })) {
      if (damage !== undefined && damage !== 'torn')
        this.#report(`${basename(path)} is damaged: run warder audit verify`)
      // The last line is being written.
      if (!whole) break
      const text = bytes.toString('latin1')
      const position = readPosition(text)
      if (position !== undefined && known.parts.length > 0 && position.seq <= after) continue
      const checked = checkRecord(bytes, head, { thorough: false, anywhere: head === undefined })
      if (typeof checked === 'string') {
        if (known.parts.length > 0 && head === known.head) return false
        this.#report(
          `${basename(path)}: record ${(head?.seq ?? 0) + 1} was left out: ${checked}: run warder audit verify`,
        )
        head = undefined
        continue
      }
      head = checked
      if (checked.seq >= this.#position) continue
      if (!isAny && !(mayMatch(text, filter) && isMatchingLine(bytes.toString('utf8'), filter))) continue
      draft.add(checked.seq, bytes)
    }
    if (isNewest && this.#request.before === undefined) this.#head = head
    this.#position = draft.commit() ?? this.#position
    return true
  }

  /** @returns false when the part does not fit the file */
  async #searchPart(part: PartRange, path: string): Promise<boolean> {
    const { filter, indexKey } = this.#request
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter
    const index = this.#index
    if (index === undefined) return false
    const isInTime = part.maxTime >= since && part.minTime < until
    const flags = isInTime ? await this.#findBlocks(part, index) : undefined
    if (flags === 'damaged') return false
    if (flags?.includes(1) === false) {
      this.#position = part.first
      return true
    }
    const sealed = await index.content(part, 'blocks')
    const opened = sealed === undefined ? undefined : openBlocks(indexKey, part, sealed)
    if (opened === undefined) return false
    // The times in clear are believed only when they were sealed with the part.
    if (flags === undefined) {
      this.#position = part.first
      return true
    }
    const wanted = opened.blocks.filter(
      ({ first, minTime, maxTime }, block) =>
        flags[block] === 1 && first < this.#position && maxTime >= since && minTime < until,
    )
    return isCompressedName(path) || isEncryptedName(path)
      ? this.#readInOrder(path, part, wanted)
      : this.#readBackwards(path, opened.next, opened.blocks, new Set(wanted), part)
  }

  async #findBlocks(part: PartRange, index: IndexStore): Promise<Uint8Array | 'damaged'> {
    const contents = new Map<string, Uint8Array | undefined>()
    for (const kind of ['request', 'object', 'other'] as const)
      if (this.#terms[kind].length > 0) contents.set(kind, await index.content(part, kind))
    return findBlocks(this.#request.indexKey, part, this.#terms, (kind) => contents.get(kind))
  }

  /** Each block by itself, the newest first, until the page is full. */
  #readBackwards(
    path: string,
    end: number,
    blocks: readonly Block[],
    wanted: ReadonlySet<Block>,
    part: PartRange,
  ): boolean {
    const file = openSync(path, 'r')
    try {
      for (let index = blocks.length - 1; index >= 0; index -= 1) {
        const block = blocks[index] as Block
        if (!wanted.has(block)) continue
        if (this.#countBlock(block)) continue
        const bytes = Buffer.allocUnsafe((blocks[index + 1]?.at ?? end) - block.at)
        if (readSync(file, bytes, 0, bytes.length, block.at) < bytes.length) return false
        if (!mayMatch(bytes.toString('latin1'), this.#request.filter)) this.#position = block.first
        else if (!this.#takeBlock(block, splitLines(bytes))) return false
        this.#reached = block.minTime
        if (this.#isOver()) return true
      }
      this.#position = part.first
      return true
    } finally {
      closeSync(file)
    }
  }

  /** A file that can only be read in its order. */
  async #readInOrder(path: string, part: PartRange, wanted: readonly Block[]): Promise<boolean> {
    const unread = wanted.filter((block) => !this.#isCounted(block))
    const lines = await this.#readBlocks(path, unread)
    for (const block of wanted.toReversed()) {
      if (this.#countBlock(block)) continue
      if (!this.#takeBlock(block, lines.get(block) ?? [])) return false
      if (this.#collector.isFull) return true
    }
    this.#position = part.first
    return true
  }

  /** The lines of blocks of a file that can only be read in its order. */
  async #readBlocks(path: string, wanted: readonly Block[]): Promise<ReadonlyMap<Block, readonly Buffer[]>> {
    const lines = new Map<Block, Buffer[]>(wanted.map((block) => [block, []]))
    const [first] = wanted
    const last = wanted.at(-1)
    if (first === undefined || last === undefined) return lines
    const from = isCompressedName(path) ? 0 : first.at
    let at = 0
    for await (const { bytes, whole } of readLines(path, { from, keys: this.#request.keys })) {
      if (!whole) break
      const seq = readPosition(bytes.toString('latin1'))?.seq
      if (seq === undefined || seq < first.first) continue
      if (seq > last.last) break
      while ((wanted[at]?.last ?? seq) < seq) at += 1
      const block = wanted[at]
      if (block !== undefined && seq >= block.first) lines.get(block)?.push(Buffer.from(bytes))
    }
    return lines
  }

  /** Whether the index has all that is needed of the block. */
  #isCounted(block: Block): boolean {
    return block.last < this.#position && this.#collector.takesBlock?.(block) === true
  }

  #countBlock(block: Block): boolean {
    if (!this.#isCounted(block)) return false
    this.#collector.addBlock?.(block)
    this.#position = block.first
    return true
  }

  /**
   * Adds the matching records of a block, the newest first. If there are some, all records of the block are checked: they
   * lead from the hash before it to its last one.
   * @returns false when they do not
   */
  #takeBlock(block: Block, lines: readonly Buffer[]): boolean {
    const { filter } = this.#request
    const draft = this.#collector.begin()
    for (const [index, bytes] of lines.entries()) {
      const seq = block.first + index
      if (seq >= this.#position || !mayMatch(bytes.toString('latin1'), filter)) continue
      const record = parseLine(escapeHidden(bytes.toString('utf8')))
      if (record === undefined) return false
      if (matchesSearch(record, filter)) draft.add(seq, bytes)
    }
    if (draft.hasRecords && !isChained(block, lines)) return false
    this.#position = draft.commit() ?? block.first
    return true
  }
}

/**
 * A quick test that no matching line fails: texts that JSON writes as they are occur in the line.
 * @param lines one or more of them, UTF-8 as Latin-1
 */
function mayMatch(lines: string, filter: SearchFilter): boolean {
  const { principal, object, requestId, address, outcome, text } = filter
  for (const value of [requestId, object, principal, address, outcome])
    if (value !== undefined && plain.test(value) && !lines.includes(value)) return false
  if (text === undefined || !plain.test(text) || lines.toLowerCase().includes(text.toLowerCase())) return true
  // Some other letters have lower case in ASCII.
  return /[\x80-\xff]/.test(lines)
}

function isEverything(filter: SearchFilter): boolean {
  return Object.values(filter).every((value) => value === undefined)
}

const plain = /^[ !#-[\]-~]*$/

function splitLines(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end))
    start = end + 1
  }
  return lines
}

function isChained({ first, last, prevHash, lastHash }: Block, lines: readonly Buffer[]): boolean {
  if (lines.length !== last - first + 1) return false
  let head: ChainHead = { seq: first - 1, hash: prevHash }
  for (const line of lines) {
    const checked = checkRecord(line, head, { thorough: false, anywhere: false })
    if (typeof checked === 'string') return false
    head = checked
  }
  return head.hash === lastHash
}
