import { hash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { logFiles } from './folder.ts'
import { genesis, hashOf } from './record.ts'

export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

export interface BrokenAt {
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly reason: string
}

export interface Verdict {
  readonly ok: boolean
  readonly records: number
  readonly files: number
  /** The last record of a whole chain: keep it elsewhere, and a log that was cut off later is found out. */
  readonly head: ChainHead | undefined
  readonly firstBroken: BrokenAt | undefined
  /** Bytes after the last newline of the last file: a line that was being written when the process died. */
  readonly torn: { readonly file: string; readonly at: number; readonly bytes: number } | undefined
}

const longestLine = 1_048_576

/**
 * Recomputes the chain of a log file or folder, reading it once with little memory. Finds lines that were changed,
 * removed, inserted or moved, and missing files. A single rotated file starts from what its first record says. Lines
 * cut off at the very end leave a chain that is whole: compare the head with one that was kept elsewhere.
 */
export async function verifyAudit(path: string): Promise<Verdict> {
  const isFolder = statSync(path).isDirectory()
  const files = isFolder ? logFiles(path) : [{ path, firstSeq: undefined }]
  let head: ChainHead | undefined
  let records = 0
  let torn: Verdict['torn']
  for (const [index, file] of files.entries()) {
    const last = index === files.length - 1
    let number = 0
    for await (const { text, at, whole } of linesOf(file.path)) {
      number += 1
      if (!whole) {
        if (!last)
          return broken(files.length, records, head, {
            file: file.path,
            line: number,
            reason: 'the line is torn',
          })
        torn = { file: file.path, at, bytes: Buffer.byteLength(text) }
        break
      }
      const checked = checkLine(text, head, records === 0 && !isFolder)
      if (typeof checked === 'string') {
        return broken(files.length, records, head, { file: file.path, line: number, reason: checked })
      }
      if (number === 1 && file.firstSeq !== undefined && file.firstSeq !== checked.seq) {
        const reason = `the file name says its first record is ${file.firstSeq}, it is ${checked.seq}`
        return broken(files.length, records, head, { file: file.path, line: number, reason })
      }
      head = checked
      records += 1
    }
  }
  return { ok: true, records, files: files.length, head, firstBroken: undefined, torn }
}

function broken(files: number, records: number, head: ChainHead | undefined, firstBroken: BrokenAt): Verdict {
  return { ok: false, records, files, head, firstBroken, torn: undefined }
}

/** @param anywhere the chain may start in the middle (a single file that was rotated) */
function checkLine(text: string, head: ChainHead | undefined, anywhere: boolean): ChainHead | string {
  if (head !== undefined) {
    const unchanged = quickCheck(text, head)
    if (unchanged !== undefined) return unchanged
  }
  let record: Readonly<Record<string, unknown>>
  try {
    record = JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return 'the line is not JSON'
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    return 'the line is not a record'
  const { seq, prev, hash: digest } = record
  if (typeof seq !== 'number' || typeof prev !== 'string' || typeof digest !== 'string')
    return 'seq, prev or hash is missing'
  if (head !== undefined || !anywhere) {
    const expected = head ?? { seq: 0, hash: genesis }
    if (seq !== expected.seq + 1) return `record ${expected.seq + 1} is missing here (found ${seq})`
    if (prev !== expected.hash) return 'prev is not the hash of the record before'
  }
  if (hashOf(record) !== digest) return 'the record was changed: its hash is another'
  // A member written twice would be read one way here and another way elsewhere.
  if (JSON.stringify(record).length !== text.length) return 'the line is not written as Warder writes it'
  return { seq, hash: digest }
}

const hashMember = /,"hash":"([0-9a-f]{64})"}$/

/**
 * The line as Warder writes it: what stands before `hash` is canonical already, so its bytes are hashed as they are.
 * Ten times as fast as parsing; whatever does not fit exactly is looked at in full.
 */
function quickCheck(text: string, head: ChainHead): ChainHead | undefined {
  const digest = hashMember.exec(text)?.[1]
  const seq = head.seq + 1
  if (
    digest === undefined ||
    !text.includes(`,"prev":"${head.hash}",`) ||
    !text.includes(`,"seq":${seq},"service":`)
  ) {
    return undefined
  }
  return hash('sha256', `${head.hash}${text.slice(0, -75)}}`, 'hex') === digest
    ? { seq, hash: digest }
    : undefined
}

/** Lines with the byte at which they start; the last one may lack its newline. */
async function* linesOf(path: string): AsyncGenerator<{ text: string; at: number; whole: boolean }> {
  let rest = Buffer.alloc(0)
  let at = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1_048_576 })) {
    let bytes = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    let end = bytes.indexOf(10)
    while (end >= 0) {
      yield { text: bytes.toString('utf8', 0, end), at, whole: true }
      at += end + 1
      bytes = bytes.subarray(end + 1)
      end = bytes.indexOf(10)
    }
    rest = Buffer.from(bytes)
    if (rest.length > longestLine) break
  }
  if (rest.length > 0) yield { text: rest.toString('utf8'), at, whole: rest.length > longestLine }
}
