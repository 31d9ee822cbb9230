import type { KeyObject } from 'node:crypto'
import { statSync } from 'node:fs'
import { checkRecord } from './check-record.ts'
import { type Checkpoint, follows, isArchivedBy, isSignedBy, toChainHead } from './checkpoint.ts'
import {
  canRead,
  DamagedFile,
  isCompressedName,
  isEncryptedName,
  type LogKeys,
  noLogKeys,
} from './encrypted-bytes.ts'
import { parseFirstSeq } from './folder.ts'
import { computeStoredDigest, type Line, readLines } from './lines.ts'
import { beginning, type ChainHead } from './record.ts'
import { isRecordedRemoval, RecordedRemovals } from './removals.ts'
import { formatSegmentName, isPresent, listSegments, type Segment } from './segments.ts'

export interface BrokenAt {
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly reason: string
}

export interface VerifyResult {
  readonly ok: boolean
  readonly records: number
  readonly files: number
  /** Files that were removed, and whose checkpoints continue the chain. */
  readonly removed: number
  /** Those of them whose removal neither the key of the log has signed nor the chain has recorded. */
  readonly unexplained: readonly string[]
  /** Encrypted files without keys whose stored bytes match their signed checkpoints. */
  readonly unopened: number
  /** Encrypted files without keys that cannot be verified. */
  readonly unread: readonly string[]
  /** Number of the first record that was checked; above 1 the path is an archive, or a part of a log. */
  readonly first: number | undefined
  /** The last record of a valid chain: stored elsewhere, it reveals a log that was truncated later. */
  readonly head: ChainHead | undefined
  readonly firstBroken: BrokenAt | undefined
  readonly torn: TornTail | undefined
}

/** The end of the last file, from the first line that was incomplete when the process or the machine stopped. */
export interface TornTail {
  readonly file: string
  readonly at: number
  readonly bytes: number
  /**
   * Bytes of it are zero: after a power cut a file may have its new length but not all of its data. Complete
   * lines may follow them.
   */
  readonly hole: boolean
  /** In an encrypted file the torn part may be longer than a line. */
  readonly encrypted: boolean
}

/** More data never waits for the disk: a longer tail after a hole is a broken log. */
const maxTornTailBytes = 64 * 1_048_576

export interface VerifyOptions {
  /**
   * Also parses every line and checks its format; without it lines with the right hash are accepted as they are (a
   * start has to be quick).
   */
  readonly thorough?: boolean
  readonly expectHead?: ChainHead
  /** Keys whose checkpoints count. */
  readonly keys?: readonly KeyObject[]
  /** Trusts the checkpoints of closed files at the beginning, and reads the files after them. */
  readonly fromCheckpoints?: boolean
  /** For encrypted files. Closed ones are verified without, by the checkpoints' keys. */
  readonly logKeys?: LogKeys | undefined
}

/**
 * Recomputes the chain of a log file or folder, reading it once with little memory. Finds lines that were changed,
 * removed, inserted or moved, and missing files. If a file was moved away, its signed checkpoint connects the chain. A
 * single rotated file, or a folder of archived files, starts from the state in its first record, whose number is in the
 * file name. Lines cut off at the very end leave a chain that is whole: compare the head with one that was kept
 * elsewhere (`expectHead`).
 */
export async function verifyAudit(path: string, options: VerifyOptions = {}): Promise<VerifyResult> {
  return new Verification(path, options).run()
}

class Verification {
  readonly #options: VerifyOptions
  readonly #segments: readonly Segment[]
  /** The chain may start in the middle: one file that was rotated, or archived files. */
  readonly #anywhere: boolean
  #head: ChainHead | undefined
  #records = 0
  readonly #removed: Segment[] = []
  readonly #recordedRemovals = new RecordedRemovals()
  #first: number | undefined
  /** Records before this one were not all read. */
  #readFrom = 1
  #unopened = 0
  readonly #unread: string[] = []
  #torn: TornTail | undefined
  #expected: boolean
  #place: { file: string; line: number }

  constructor(path: string, options: VerifyOptions) {
    const isFolder = statSync(path).isDirectory()
    this.#options = options
    this.#segments = isFolder ? listSegments(path) : [openSegment(path)]
    this.#anywhere = isFolder ? isArchive(this.#segments) : this.#segments[0]?.firstSeq !== 1
    this.#expected = options.expectHead === undefined
    this.#place = { file: path, line: 0 }
  }

  async run(): Promise<VerifyResult> {
    const from = this.#options.fromCheckpoints === true ? this.#skipChecked() : 0
    for (const [index, segment] of this.#segments.entries()) {
      if (index < from) continue
      const problem = await this.#check(segment, index === this.#segments.length - 1)
      if (problem !== undefined) return this.#toResult(problem)
    }
    const { expectHead } = this.#options
    if (this.#expected || this.#unread.length > 0) return this.#toResult()
    return this.#toResult(`record ${expectHead?.seq} is expected, but is no longer in the log`)
  }

  #toResult(reason?: string): VerifyResult {
    return {
      ok: reason === undefined && this.#unread.length === 0,
      records: this.#records,
      files: this.#segments.length - this.#removed.length,
      removed: this.#removed.length,
      unexplained: this.#removed
        .filter((segment) => !this.#isRecordedRemoval(segment))
        .map(formatSegmentName),
      unopened: this.#unopened,
      unread: this.#unread,
      first: this.#first,
      head: this.#head,
      firstBroken: reason === undefined ? undefined : { ...this.#place, reason },
      torn: reason === undefined ? this.#torn : undefined,
    }
  }

  /** @returns how many segments are as they were when they were closed, as far as can be seen without reading them */
  #skipChecked(): number {
    let count = 0
    for (const segment of this.#segments) {
      const checkpoint = this.#findTrusted(segment)
      const known = segment.path === undefined || isPresent(segment)
      if (checkpoint === undefined || !known || !follows(checkpoint, this.#head ?? beginning)) break
      this.#pass(segment, checkpoint)
      count += 1
    }
    return count
  }

  #findTrusted({ signed }: Segment): Checkpoint | undefined {
    return signed !== undefined && isSignedBy(this.#options.keys ?? [], signed)
      ? signed.checkpoint
      : undefined
  }

  /** Goes over the records of a segment without reading them. */
  #pass(segment: Segment, checkpoint: Checkpoint): void {
    this.#first ??= checkpoint.first_seq
    this.#head = toChainHead(checkpoint)
    this.#readFrom = checkpoint.last_seq + 1
    if (segment.path !== undefined) {
      this.#records += checkpoint.last_seq - checkpoint.first_seq + 1
      return
    }
    this.#removed.push(segment)
  }

  #isRecordedRemoval({ signed }: Segment): boolean {
    return (
      signed !== undefined &&
      isRecordedRemoval(signed, {
        keys: this.#options.keys ?? [],
        recorded: this.#recordedRemovals,
        isRead: this.#readFrom <= signed.checkpoint.last_seq + 1,
        isArchive: this.#anywhere,
      })
    )
  }

  /** @returns the error, if the file does not continue the chain */
  #findOrderProblem(checkpoint: Checkpoint): string | undefined {
    const start = this.#head ?? (this.#anywhere ? getStartHead(checkpoint) : beginning)
    return follows(checkpoint, start)
      ? undefined
      : `record ${start.seq + 1} is missing here (found ${checkpoint.first_seq})`
  }

  /** @returns the error */
  async #check(segment: Segment, isLast: boolean): Promise<string | undefined> {
    const checkpoint = this.#findTrusted(segment)
    const { path, signed } = segment
    this.#place = { file: path ?? formatSegmentName(segment), line: 0 }
    if (path === undefined) {
      if (checkpoint === undefined)
        return signed === undefined
          ? 'the checkpoint cannot be read, and the file is missing'
          : 'the file is missing, and its checkpoint was not signed by the key of this log'
      const problem = this.#findOrderProblem(checkpoint)
      if (problem === undefined) this.#pass(segment, checkpoint)
      return problem
    }
    if (signed !== undefined && checkpoint === undefined && this.#options.thorough === true)
      return 'the checkpoint of this file was not signed by the key of this log'
    if (!canRead(path, this.#logKeys)) return this.#checkStored(segment, path, checkpoint, isLast)
    const problem = await this.#read(segment, path, isLast).catch((error: unknown) => {
      if (segment.compressed && isDamage(error)) return 'the compressed file is damaged here'
      throw error
    })
    if (problem !== undefined || checkpoint === undefined || this.#torn !== undefined) return problem
    const { seq, hash } = this.#head ?? beginning
    return seq === checkpoint.last_seq && hash === checkpoint.last_hash
      ? undefined
      : 'the end of the file differs from its checkpoint'
  }

  get #logKeys(): LogKeys {
    return this.#options.logKeys ?? noLogKeys
  }

  /** An encrypted file whose key is not here: its bytes are those that its checkpoint names. @returns the error */
  async #checkStored(
    segment: Segment,
    path: string,
    checkpoint: Checkpoint | undefined,
    isLast: boolean,
  ): Promise<string | undefined> {
    const wanted = segment.compressed ? this.#findArchived(segment) : getStoredDigest(checkpoint)
    if (checkpoint === undefined || wanted === undefined) {
      this.#unread.push(formatSegmentName(segment))
      return isLast || checkpoint !== undefined
        ? this.#passUnread(segment, checkpoint)
        : 'the file is encrypted, its key is not available, and no signed checkpoint attests its content'
    }
    const problem = this.#findOrderProblem(checkpoint)
    if (problem !== undefined) return problem
    const { bytes, sha256 } = await computeStoredDigest(path)
    if (bytes !== wanted.bytes || sha256 !== wanted.sha256)
      return 'the encrypted file was changed after it was closed'
    this.#unopened += 1
    this.#pass(segment, checkpoint)
    return this.#expect(segment, checkpoint)
  }

  #passUnread(segment: Segment, checkpoint: Checkpoint | undefined): undefined {
    if (checkpoint !== undefined) this.#pass(segment, checkpoint)
  }

  #findArchived({ signed }: Segment): { readonly bytes: number; readonly sha256: string } | undefined {
    return signed !== undefined && isArchivedBy(this.#options.keys ?? [], signed)
      ? signed.archived
      : undefined
  }

  /** The expected record may be in a file that is not opened. */
  #expect(segment: Segment, { first_seq, last_seq, last_hash }: Checkpoint): string | undefined {
    const { expectHead } = this.#options
    if (expectHead === undefined || expectHead.seq < first_seq || expectHead.seq > last_seq) return undefined
    if (expectHead.seq < last_seq) this.#unread.push(formatSegmentName(segment))
    else if (expectHead.hash !== last_hash) return 'the last record is not the expected one'
    else this.#expected = true
    return undefined
  }

  /** @returns the error */
  async #read({ firstSeq }: Segment, path: string, isLast: boolean): Promise<string | undefined> {
    const { thorough, expectHead } = this.#options
    let number = 0
    for await (const line of readLines(path, { keys: this.#logKeys })) {
      const { bytes, at, whole } = line
      number += 1
      this.#place = { file: path, line: number }
      if (line.damage === 'changed') return 'this encrypted block was changed or moved'
      if (!whole) {
        if (!isLast) return 'the line is torn'
        this.#torn = toTornTail(path, line)
        return undefined
      }
      const checked = checkRecord(bytes, this.#head, {
        thorough: thorough === true,
        anywhere: this.#head === undefined && this.#anywhere,
      })
      if (typeof checked === 'string') {
        this.#torn = isLast ? readTailBehindHole(path, at, bytes) : undefined
        return this.#torn === undefined ? checked : undefined
      }
      if (number === 1 && !Number.isNaN(firstSeq) && firstSeq !== checked.seq)
        return `the first record of the file is ${checked.seq}, but its name says ${firstSeq}`
      this.#first ??= checked.seq
      this.#head = checked
      this.#records += 1
      this.#recordedRemovals.add(bytes)
      if (expectHead?.seq === checked.seq) {
        if (expectHead.hash !== checked.hash) return 'this record is not the expected one'
        this.#expected = true
      }
    }
    return undefined
  }
}

/** Whether no file of the log is being written. */
function isArchive(segments: readonly Segment[]): boolean {
  const there = segments.filter(({ path }) => path !== undefined)
  return there.length > 0 && there.every(({ compressed }) => compressed)
}

/** A single file. Names that Warder does not use are accepted. */
function openSegment(path: string): Segment {
  return {
    firstSeq: parseFirstSeq(path) ?? Number.NaN,
    path,
    compressed: isCompressedName(path),
    signed: undefined,
  }
}

/** JSON contains no zero byte: a line with one was never written. */
function readTailBehindHole(file: string, at: number, line: Buffer): TornTail | undefined {
  const bytes = statSync(file).size - at
  return line.includes(0) && bytes <= maxTornTailBytes
    ? { file, at, bytes, hole: true, encrypted: false }
    : undefined
}

function toTornTail(file: string, { bytes, at, damage }: Line): TornTail {
  return isEncryptedName(file)
    ? { file, at, bytes: statSync(file).size - at, hole: damage === 'hole', encrypted: true }
    : { file, at, bytes: bytes.length, hole: bytes.includes(0), encrypted: false }
}

function getStoredDigest(
  checkpoint: Checkpoint | undefined,
): { readonly bytes: number; readonly sha256: string } | undefined {
  const { stored_bytes: bytes, stored_sha256: sha256 } = checkpoint ?? {}
  return bytes === undefined || sha256 === undefined ? undefined : { bytes, sha256 }
}

/** State of the chain before a file. */
function getStartHead({ first_seq, first_prev }: Checkpoint): ChainHead {
  return { seq: first_seq - 1, hash: first_prev }
}

/** Whether reading failed because of the file's content. */
export function isDamage(error: unknown): boolean {
  if (error instanceof DamagedFile) return true
  return error instanceof Error && 'code' in error && /^(?:ZSTD|Z)_|^ERR_BUFFER/.test(String(error.code))
}
