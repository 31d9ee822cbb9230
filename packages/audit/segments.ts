import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { describeFullDisk } from '@warder/base'
import { parseCheckpoint, type SignedCheckpoint, toChainHead } from './checkpoint.ts'
import { isEncryptedName } from './encrypted-bytes.ts'
import { formatLogFileName, syncFolder } from './folder.ts'
import type { ChainHead } from './record.ts'

/** One file of a log, in any of its forms. */
export interface Segment {
  readonly firstSeq: number
  /** Path of its records: the file or its compressed copy; undefined = they were removed. */
  readonly path: string | undefined
  readonly compressed: boolean
  /** undefined = it is being written, or was not checked yet. */
  readonly signed: SignedCheckpoint | undefined
}

const pattern = /^audit-(\d{16})\.(?:jsonl(?:\.zst)?(?:\.enc)?|checkpoint)$/

/** The segments of a log, or of an archive of one, in their order. */
export function listSegments(folder: string): readonly Segment[] {
  return listSegmentNumbers(folder).map((firstSeq) => readSegment(folder, firstSeq))
}

/** First record numbers of the segments of a log, in order. */
export function listSegmentNumbers(folder: string): readonly number[] {
  const numbers = readdirSync(folder).flatMap((name) => {
    const match = pattern.exec(name)
    return match === null ? [] : [Number(match[1])]
  })
  return [...new Set(numbers)].sort((a, b) => a - b)
}

/** The segment that begins with this record, as it is now. */
export function readSegment(folder: string, firstSeq: number): Segment {
  const written = [formatLogFileName(folder, firstSeq), formatLogFileName(folder, firstSeq, true)]
  const archived = listArchiveNames(folder, firstSeq)
  const path = [...written, ...archived].find((name) => existsSync(name))
  const compressed = path !== undefined && archived.includes(path)
  const checkpoint = formatCheckpointName(folder, firstSeq)
  const signed = existsSync(checkpoint) ? parseCheckpoint(readFileSync(checkpoint, 'utf8')) : undefined
  return { firstSeq, path, compressed, signed }
}

export function formatArchiveName(folder: string, firstSeq: number, encrypted: boolean): string {
  return `${formatLogFileName(folder, firstSeq)}.zst${encrypted ? '.enc' : ''}`
}

/** Both names, since a file may have been archived before and after the setting changed. */
export function listArchiveNames(folder: string, firstSeq: number): readonly string[] {
  return [formatArchiveName(folder, firstSeq, true), formatArchiveName(folder, firstSeq, false)]
}

function formatCheckpointName(folder: string, firstSeq: number): string {
  return formatLogFileName(folder, firstSeq).replace(/\.jsonl$/, '.checkpoint')
}

/** Replaces the checkpoint of a segment: on disk when this returns. */
export function writeCheckpoint(folder: string, signed: SignedCheckpoint): void {
  replaceFile(formatCheckpointName(folder, signed.checkpoint.first_seq), `${JSON.stringify(signed)}\n`)
}

/**
 * Writes into the checkpoint of a segment that its file will be removed: on disk when this returns. If the disk is too
 * full for another file, it is written at the end of the one that is there, in room that this has already. A process
 * that dies meanwhile leaves a checkpoint that cannot be read beside the file itself, which the service signs again.
 */
export function writeRemoval(
  folder: string,
  signed: SignedCheckpoint,
  removal: NonNullable<SignedCheckpoint['removal']>,
): void {
  const removed = { ...signed, removal }
  try {
    writeCheckpoint(folder, removed)
  } catch (error) {
    const path = formatCheckpointName(folder, signed.checkpoint.first_seq)
    if (describeFullDisk(error, path) === undefined || !existsSync(path)) throw error
    overwrite(path, `${JSON.stringify(removed)}\n`)
  }
}

/** Overwrites a file in place; when that fails, its previous bytes are restored. */
function overwrite(path: string, text: string): void {
  const before = readFileSync(path)
  const put = (bytes: string | Uint8Array): void => {
    const file = openSync(path, 'r+')
    try {
      writeFileSync(file, bytes)
      ftruncateSync(file, Buffer.byteLength(bytes))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }
  try {
    put(text)
  } catch (error) {
    try {
      put(before)
    } catch {
      // No byte was written: the file is unchanged.
    }
    throw withPath(error, path)
  }
}

/** Readers see the old bytes or the new ones. */
export function replaceFile(path: string, bytes: string | Uint8Array): void {
  const fresh = `${path}.new`
  try {
    writeFileSync(fresh, bytes, { mode: 0o600, flush: true })
    renameSync(fresh, path)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw withPath(error, fresh)
  }
  syncFolder(dirname(path))
}

/** Copies a small file, unless the other has its bytes already: one that is there is never cut short by a full disk. */
export function copyOnce(from: string, to: string): void {
  const bytes = readFileSync(from)
  if (!existsSync(to) || !readFileSync(to).equals(bytes)) replaceFile(to, bytes)
}

/** Adds the path, which errors of a write lack. */
function withPath(error: unknown, path: string): unknown {
  return error instanceof Error ? Object.assign(error, { path }) : error
}

/** Whether the file exists with its full size. The size of an archived file is not checked. */
export function isPresent({ path, compressed, signed }: Segment): boolean {
  if (path === undefined || signed === undefined || !existsSync(path)) return false
  const { bytes, stored_bytes } = signed.checkpoint
  return compressed || statSync(path).size === (isEncryptedName(path) ? stored_bytes : bytes)
}

/** State of the chain after the last closed file; undefined = no file is closed. */
export function readClosedHead(folder: string): ChainHead | undefined {
  const last = listSegments(folder).findLast(({ signed }) => signed !== undefined)?.signed
  return last === undefined ? undefined : toChainHead(last.checkpoint)
}

/** For messages. */
export function formatSegmentName({ firstSeq, path }: Segment): string {
  return basename(formatLogFileName('', firstSeq, path !== undefined && isEncryptedName(path)))
}
