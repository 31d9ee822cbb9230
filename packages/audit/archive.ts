import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { compose, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import { describeFullDisk, StartupError } from '@warder/base'
import {
  type CheckpointSigner,
  isRemovalSignedBy,
  isSignedBy,
  type Removal,
  type SignedCheckpoint,
} from './checkpoint.ts'
import { checkpointFileName, readPublicCheckpointKey } from './checkpoint-key.ts'
import {
  encryptStream,
  findLogKey,
  isEncryptedName,
  type LogKey,
  type LogKeys,
  MissingLogKey,
  noLogKeys,
} from './encrypted-bytes.ts'
import { computeDigest } from './examine.ts'
import { formatLogFileName, syncFolder } from './folder.ts'
import { computeStoredDigest, readBytes } from './lines.ts'
import { copyLogKeys } from './log-keys.ts'
import { unknownRemover } from './removals.ts'
import {
  copyOnce,
  formatArchiveName,
  formatSegmentName,
  listArchiveNames,
  listSegments,
  type Segment,
  writeCheckpoint,
  writeRemoval,
} from './segments.ts'

export interface OldFiles {
  readonly folder: string
  /** Unix milliseconds: files whose records are all older. */
  readonly before: number
  /** The operator; recorded in the log. */
  readonly by: string
  /** Unix milliseconds. */
  readonly now: number
}

export interface ArchiveOptions extends OldFiles {
  /** Destination folder; absent = beside the log, so that every command still finds the records. */
  readonly to?: string | undefined
  /** Keys of encrypted files; without them such files are not archived. */
  readonly unlocked?: UnlockedLog | undefined
}

/** Keys and root for archiving an encrypted log. */
export interface UnlockedLog {
  readonly keys: LogKeys
  /** Set: archived files are encrypted, also those that were written in clear text. */
  readonly encryptWith: LogKey | undefined
  /** Signs how an encrypted file is stored, for verification without its key, and which file was moved away. */
  readonly signer: CheckpointSigner | undefined
}

/** Outcome for one file. */
export interface Done {
  readonly file: string
  readonly records: number
  readonly path: string
}

/** A closed segment whose file exists. */
type Closed = Segment & { readonly path: string; readonly signed: SignedCheckpoint }

/** Number of files at the end of a log that are never archived. */
const minKept = 2

/** 3 is zstd's own default; logs shrink to about a tenth. */
const level = 6

/**
 * Compresses closed files (zstd, RFC 8878), verifies each copy before the original is deleted, and moves them to the
 * destination. A process that dies meanwhile leaves one complete form of each file; the next call continues.
 * @throws StartupError when a file has changed since it was closed, or is not closed yet
 */
export async function* archiveOld(options: ArchiveOptions): AsyncGenerator<Done> {
  const { folder, to, by, now } = options
  const target = to === undefined ? folder : resolve(to)
  const signer = options.unlocked?.signer
  if (target !== folder) mkdirSync(target, { recursive: true, mode: 0o700 })
  for (const segment of listOldSegments(options)) {
    if (segment.compressed && target === folder) continue
    if (target !== folder) requireSigner(segment, signer)
    const { path, firstSeq } = segment
    const logKey = chooseLogKey(segment, options.unlocked)
    const archived = formatArchiveName(target, firstSeq, logKey !== undefined)
    if (!existsSync(archived)) await writeArchived(path, archived, segment, options.unlocked?.keys, logKey)
    await requireSame(archived, segment, options.unlocked?.keys)
    const signed = await signArchivedFile(segment, archived, options.unlocked?.signer)
    if (target !== folder) {
      writeCheckpoint(target, signed)
      copyOnce(join(folder, checkpointFileName), join(target, checkpointFileName))
      copyLogKeys(folder, target)
      syncFolder(target)
      const removal = { at: new Date(now).toISOString(), by, to: target }
      writeRemoval(folder, signed, signRemoval(segment, removal, signer))
    } else if (signed !== segment.signed) writeCheckpoint(folder, signed)
    rmSync(path)
    syncFolder(folder)
    yield toDone(segment, archived)
  }
}

export interface PruneOptions extends OldFiles {
  readonly dryRun?: boolean
  /** Signs removals with the name of the operator; undefined = nothing can be removed. */
  readonly signer: CheckpointSigner | undefined
}

/**
 * Removes closed files for good, or lists them (`dryRun`). Their checkpoints stay, so that the chain remains complete;
 * the service records in it the removal and the user. A file that is gone already, and whose removal is not signed, is
 * old enough to be removed as well: signing that ends the alarm.
 * @throws StartupError when a file is not closed yet
 */
export function* pruneOld(options: PruneOptions): Generator<Done> {
  const { folder, by, now, signer } = options
  for (const segment of listOldSegments(options, signer)) {
    if (options.dryRun === true) {
      yield toDone(segment, segment.path)
      continue
    }
    // Recorded before it is done: a file that is missing without a record raises an alarm.
    const removal = { at: new Date(now).toISOString(), by }
    writeRemoval(folder, segment.signed, signRemoval(segment, removal, signer))
    rmSync(segment.path, { force: true })
    for (const archived of listArchiveNames(folder, segment.firstSeq)) rmSync(archived, { force: true })
    syncFolder(folder)
    yield toDone(segment, segment.path)
  }
}

/**
 * Lists segments from the first on, while all of their records are older. Excludes the current file and the
 * one before it: the next start reads the last known state of the database from it.
 */
function listOldSegments({ folder, before }: OldFiles, pruner?: CheckpointSigner): readonly Closed[] {
  const segments = listSegments(folder)
  const key = readPublicCheckpointKey(folder)
  const found: Closed[] = []
  for (const segment of segments.slice(0, -minKept)) {
    const { signed } = segment
    const path = segment.path ?? missingPath(folder, segment, pruner)
    if (path === undefined) continue
    if (signed === undefined || key === undefined || !isSignedBy([key], signed)) {
      throw new StartupError(
        `${formatSegmentName(segment)} has no checkpoint of this log's key: the service signs one within seconds while it runs`,
      )
    }
    if (Date.parse(signed.checkpoint.latest) >= before) break
    found.push({ ...segment, path, signed })
  }
  return found
}

/** Path of a missing file whose removal the log's key has not signed, or has signed as unknown. */
function missingPath(
  folder: string,
  { signed, firstSeq }: Segment,
  pruner: CheckpointSigner | undefined,
): string | undefined {
  if (pruner === undefined || signed === undefined) return undefined
  const isSigned = isRemovalSignedBy([pruner.publicKey], signed)
  return isSigned && signed.removal?.by !== unknownRemover ? undefined : formatLogFileName(folder, firstSeq)
}

/** @throws StartupError when the key that signed the checkpoint is not available */
function requireSigner(segment: Closed, signer: CheckpointSigner | undefined): CheckpointSigner {
  if (signer?.keyId === segment.signed.checkpoint.key) return signer
  throw new StartupError(
    `${formatSegmentName(segment)} is not removed: its removal must be signed with the key of the log, which cannot be opened here. Name the home of its service with --home; the root key and the database are required`,
  )
}

function signRemoval(segment: Closed, removal: Removal, signer: CheckpointSigner | undefined): Removal {
  return requireSigner(segment, signer).signRemoval(segment.signed.checkpoint, removal)
}

/** undefined = it is archived in clear text. @throws StartupError when the key of an encrypted file is not available */
function chooseLogKey({ path }: Closed, unlocked: UnlockedLog | undefined): LogKey | undefined {
  const { keys = noLogKeys, encryptWith } = unlocked ?? {}
  if (encryptWith !== undefined || !isEncryptedName(path)) return encryptWith
  const key = findLogKey(path, keys)
  if (key === undefined) throw new MissingLogKey(path)
  return key
}

/** Uses a temporary name until the file is complete on disk. Compresses before encrypting: ciphertext does not compress. */
async function writeArchived(
  path: string,
  archived: string,
  { compressed }: Closed,
  keys: LogKeys | undefined,
  logKey: LogKey | undefined,
): Promise<void> {
  const fresh = `${archived}.new`
  const out = createWriteStream(fresh, { mode: 0o600, flush: true })
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 }
  // A file that is already compressed in the same form is copied.
  const asItIs = compressed && isEncryptedName(path) === (logKey !== undefined)
  const source = asItIs ? createReadStream(path) : Readable.from(readBytes(path, { keys }))
  const squeezed = asItIs ? source : compose(source, createZstdCompress({ params }))
  try {
    if (asItIs || logKey === undefined) await pipeline(squeezed, out)
    else await pipeline(squeezed, (chunks: AsyncIterable<Uint8Array>) => encryptStream(chunks, logKey), out)
  } catch (error) {
    // On a full disk, frees the space of the partial file.
    rmSync(fresh, { force: true })
    const full = describeFullDisk(error, archived)
    if (full === undefined) throw error
    throw new StartupError(
      `${archived} cannot be written: ${full}; ${path} is unchanged. Free disk space, or name a folder on another disk with --to, and run the command again; it resumes from there`,
      { cause: error },
    )
  }
  renameSync(fresh, archived)
  syncFolder(dirname(archived))
}

/** The checkpoint, with how its file is stored now. */
async function signArchivedFile(
  { signed }: Closed,
  archived: string,
  signer: CheckpointSigner | undefined,
): Promise<SignedCheckpoint> {
  if (!isEncryptedName(archived) || signer?.keyId !== signed.checkpoint.key) return signed
  return { ...signed, archived: signer.signArchived(signed.checkpoint, await computeStoredDigest(archived)) }
}

async function requireSame(archived: string, { signed }: Closed, keys: LogKeys | undefined): Promise<void> {
  const { bytes, sha256 } = await computeDigest(archived, keys).catch(() => ({ bytes: 0, sha256: '' }))
  if (bytes === signed.checkpoint.bytes && sha256 === signed.checkpoint.sha256) return
  throw new StartupError(
    `the content of ${archived} differs from that of ${signed.checkpoint.file} when it was closed; nothing was removed. Run warder audit verify; remove ${basename(archived)} to write it again`,
  )
}

function toDone({ signed }: Closed, path: string): Done {
  const { file, first_seq, last_seq } = signed.checkpoint
  return { file, records: last_seq - first_seq + 1, path }
}
