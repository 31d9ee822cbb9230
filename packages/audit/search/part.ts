import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import type { ChainHead } from '../record.ts'
import {
  type RecordProperties,
  type Term,
  type TermKind,
  type TermMaker,
  type Terms,
  termKinds,
} from './terms.ts'

/**
 * A part of the index: up to 4096 consecutive records of one file, in blocks of 64. It stores where each block begins in
 * the file, the hash before it, its times, its number of failures, and which terms it has. All of that is sealed with AES-256-GCM (SP 800-38D),
 * with the position of the part in the chain as additional data: a part cannot be made without the key of the index,
 * moved, or taken for one of another chain.
 */
const blockRecords = 64
const blocksPerPart = 64
export const partRecords = blockRecords * blocksPerPart

/** The unencrypted part: the range of its records. */
export interface PartRange {
  /** The number of the first record of the file. */
  readonly segment: number
  readonly first: number
  readonly last: number
  /** The hash before its first record, and of its last one. */
  readonly prevHash: string
  readonly lastHash: string
  /** Unix milliseconds. */
  readonly minTime: number
  readonly maxTime: number
}

export type PartContent = 'blocks' | TermKind

/** As it is stored. */
export interface SealedPart {
  readonly range: PartRange
  readonly contents: ReadonlyMap<PartContent, Uint8Array>
}

export interface Block {
  /** Offset in the file; in an encrypted one, of the block that holds the first record. Useless for archived files. */
  readonly at: number
  readonly first: number
  readonly last: number
  readonly prevHash: string
  readonly lastHash: string
  readonly minTime: number
  readonly maxTime: number
  /** Records whose outcome is not success. */
  readonly failures: number
}

export interface PartBlocks {
  readonly blocks: readonly Block[]
  /** Offset at which reading continues after the part. */
  readonly next: number
}

const ivBytes = 12
const tagBytes = 16

function encodeContext(range: PartRange, content: PartContent): Buffer {
  const { segment, first, last, prevHash, lastHash, minTime, maxTime } = range
  return Buffer.from(
    JSON.stringify([
      'warder audit index 1',
      content,
      segment,
      first,
      last,
      prevHash,
      lastHash,
      minTime,
      maxTime,
    ]),
  )
}

function sealContent(key: KeyObject, range: PartRange, content: PartContent, bytes: Uint8Array): Buffer {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
  cipher.setAAD(encodeContext(range, content))
  const sealed = cipher.update(bytes)
  cipher.final()
  return Buffer.concat([iv, sealed, cipher.getAuthTag()])
}

/** @returns undefined when it was not sealed with this key for this part */
function openContent(
  key: KeyObject,
  range: PartRange,
  content: PartContent,
  sealed: Uint8Array,
): Buffer | undefined {
  if (sealed.length < ivBytes + tagBytes) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(encodeContext(range, content))
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes))
  const bytes = decipher.update(sealed.subarray(ivBytes, sealed.length - tagBytes))
  try {
    decipher.final()
    return bytes
  } catch {
    return undefined
  }
}

/** Terms of one kind with the blocks that have them: 26 bits of the term, 6 bits of the block. */
class Postings {
  #values = new Uint32Array(partRecords)
  #count = 0
  /** Terms of the previous record, most of which occur again. */
  readonly #before: number[] = []
  #slot = 0

  begin(): void {
    this.#slot = 0
  }

  add(term: Term, block: number): void {
    const value = ((term << 6) | block) >>> 0
    const slot = this.#slot++
    if (this.#before[slot] === value) return
    this.#before[slot] = value
    if (this.#count === this.#values.length) {
      const larger = new Uint32Array(this.#values.length * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#count++] = value
  }

  /** In order, each once. */
  encode(): Buffer {
    const sorted = this.#values.subarray(0, this.#count).sort()
    let length = 0
    for (let index = 0; index < sorted.length; index += 1) {
      const value = sorted[index] as number
      if (length === 0 || value !== sorted[length - 1]) sorted[length++] = value
    }
    return Buffer.from(sorted.buffer, 0, length * Uint32Array.BYTES_PER_ELEMENT)
  }
}

/** Collects the records of one part. */
export class PartBuilder {
  readonly #segment: number
  readonly #first: number
  readonly #hashes: string[]
  readonly #offsets: number[] = []
  readonly #minTimes: number[] = []
  readonly #maxTimes: number[] = []
  readonly #failures: number[] = []
  #count = 0
  readonly #terms: TermMaker
  readonly #postings = { request: new Postings(), object: new Postings(), other: new Postings() }

  /** @param terms are kept from part to part */
  constructor(segment: number, head: ChainHead, terms: TermMaker) {
    this.#segment = segment
    this.#first = head.seq + 1
    this.#hashes = [head.hash]
    this.#terms = terms
  }

  get isFull(): boolean {
    return this.#count === partRecords
  }

  get count(): number {
    return this.#count
  }

  /** @param at where its line begins */
  add(record: RecordProperties, at: number, hash: string): void {
    const block = Math.floor(this.#count / blockRecords)
    if (this.#count % blockRecords === 0) {
      this.#offsets.push(at)
      this.#minTimes.push(record.time)
      this.#maxTimes.push(record.time)
      this.#failures.push(0)
    } else {
      if (record.time < (this.#minTimes[block] ?? 0)) this.#minTimes[block] = record.time
      if (record.time > (this.#maxTimes[block] ?? 0)) this.#maxTimes[block] = record.time
    }
    if (record.failed) this.#failures[block] = (this.#failures[block] ?? 0) + 1
    const { request, object, other } = this.#postings
    for (const postings of [request, object, other]) postings.begin()
    request.add(this.#terms.request(record), block)
    this.#terms.object(record, (term) => object.add(term, block))
    this.#terms.other(record, (term) => other.add(term, block))
    this.#hashes[block + 1] = hash
    this.#count += 1
  }

  /** @param next where reading continues after its last record */
  build(key: KeyObject, next: number): SealedPart {
    const range: PartRange = {
      segment: this.#segment,
      first: this.#first,
      last: this.#first + this.#count - 1,
      prevHash: this.#hashes[0] ?? '',
      lastHash: this.#hashes.at(-1) ?? '',
      minTime: Math.min(...this.#minTimes),
      maxTime: Math.max(...this.#maxTimes),
    }
    const numbers = Float64Array.from([next, ...this.#offsets, ...this.#minTimes, ...this.#maxTimes])
    const blocks = Buffer.concat([
      Buffer.from(numbers.buffer),
      Buffer.from(this.#hashes.slice(1).join(''), 'hex'),
      Uint8Array.from(this.#failures),
    ])
    const contents = new Map<PartContent, Uint8Array>([['blocks', sealContent(key, range, 'blocks', blocks)]])
    for (const kind of termKinds)
      contents.set(kind, sealContent(key, range, kind, this.#postings[kind].encode()))
    return { range, contents }
  }
}

/** @returns undefined when it is not the blocks of this part */
export function openBlocks(key: KeyObject, range: PartRange, sealed: Uint8Array): PartBlocks | undefined {
  const bytes = openContent(key, range, 'blocks', sealed)
  const count = Math.ceil((range.last - range.first + 1) / blockRecords)
  if (bytes === undefined || bytes.length !== 8 + count * (3 * 8 + 32 + 1)) return undefined
  const number = (index: number): number => bytes.readDoubleLE(index * 8)
  const hashesAt = 8 + count * 3 * 8
  const failuresAt = hashesAt + count * 32
  const hash = (index: number): string =>
    index < 0 ? range.prevHash : bytes.toString('hex', hashesAt + index * 32, hashesAt + index * 32 + 32)
  const blocks = Array.from({ length: count }, (_, index): Block => {
    const first = range.first + index * blockRecords
    return {
      at: number(1 + index),
      first,
      last: Math.min(range.last, first + blockRecords - 1),
      prevHash: hash(index - 1),
      lastHash: hash(index),
      minTime: number(1 + count + index),
      maxTime: number(1 + 2 * count + index),
      failures: bytes[failuresAt + index] ?? 0,
    }
  })
  return { blocks, next: number(0) }
}

/**
 * Finds the blocks that have all of these terms.
 * @param read the stored content of a kind, which is read only when it is needed
 * @returns one flag for each block; 'damaged' when a content is missing or is not of this part
 */
export function findBlocks(
  key: KeyObject,
  range: PartRange,
  terms: Terms,
  read: (kind: TermKind) => Uint8Array | undefined,
): Uint8Array | 'damaged' {
  const blocks = new Uint8Array(blocksPerPart).fill(
    1,
    0,
    Math.ceil((range.last - range.first + 1) / blockRecords),
  )
  for (const kind of termKinds) {
    if (terms[kind].length === 0) continue
    const sealed = read(kind)
    const bytes = sealed === undefined ? undefined : openContent(key, range, kind, sealed)
    if (bytes === undefined) return 'damaged'
    const values = new Uint32Array(new Uint8Array(bytes).buffer)
    for (const term of terms[kind]) keepBlocks(blocks, values, term)
    if (!blocks.includes(1)) return blocks
  }
  return blocks
}

/** Clears the flags of the blocks without the term. */
function keepBlocks(blocks: Uint8Array, values: Uint32Array, term: Term): void {
  const has = new Uint8Array(blocksPerPart)
  const lowest = (term << 6) >>> 0
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] as number) < lowest) low = middle + 1
    else high = middle
  }
  for (; low < values.length && (values[low] as number) >>> 6 === term; low += 1)
    has[(values[low] as number) & 63] = 1
  for (let block = 0; block < blocksPerPart; block += 1) if (has[block] === 0) blocks[block] = 0
}
