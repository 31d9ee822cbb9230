import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { basename, join } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { describeFullDisk, StartupError } from '@warder/base'
import type { Seal } from '@warder/storage'
import { type CheckpointKey, openCheckpointKey } from './checkpoint-key.ts'
import { type CloserOptions, type SegmentCloser, startCloser } from './closer.ts'
import { isEncryptedName, type LogKeys, noLogKeys } from './encrypted-bytes.ts'
import { createEncryptingOpener } from './encrypted-file.ts'
import { openLogFile } from './files.ts'
import {
  formatLogFileName,
  keepTail,
  listAllFiles,
  listLogFiles,
  lockFolder,
  putBack,
  readTail,
  setAside,
  syncFolder,
} from './folder.ts'
import { readLines } from './lines.ts'
import { ensureLogKey, openLogKeys } from './log-keys.ts'
import type { AuditConnection, FromWriter, ToWriter } from './messages.ts'
import { beginning, type ChainHead } from './record.ts'
import type { AuditEvent, AuditTrail } from './types.ts'
import { type BrokenAt, type TornTail, verifyAudit } from './verify.ts'
import { AuditWriter, createOwnEvent, type WriterOptions } from './writer.ts'

export interface AuditLogOptions
  extends Omit<WriterOptions, 'openFile' | 'begunAt' | 'encrypted'>,
    Partial<Pick<WriterOptions, 'openFile'>> {
  /** Seals the key that signs closed files; absent = they are not signed, and a start reads all of them. */
  readonly seal?: Seal
  /** Encrypts new files; requires a seal. Existing files stay as they are. */
  readonly encrypt?: boolean
  /** undefined = time stamps are off. */
  readonly timestamp?: CloserOptions['timestamp'] | undefined
  /** The chain is broken, or a closed file was changed or is missing. */
  readonly onDamage?: CloserOptions['onDamage']
}

interface Opening extends WriterOptions {
  readonly key: CheckpointKey | undefined
  readonly logKeys: LogKeys
  readonly encrypted: boolean
}

/** The audit log of a service, in its primary. */
export interface AuditLog {
  readonly trail: AuditTrail
  /** Connects one worker: see `createAuditClient`. */
  connect(): AuditConnection
  readonly head: ChainHead
  /** Keys that open its encrypted files. */
  readonly keys: LogKeys
  /** Records that wait for the disk. */
  readonly waiting: number
  /** Whether the last operation on the file succeeded. */
  readonly writable: boolean
  /** Resolves when all work on closed files is done. */
  whenIdle(): Promise<void>
  /** Writes waiting records and releases the folder's lock. */
  close(): Promise<void>
}

/**
 * Opens the log: verifies the chain after the last checkpoint, cuts a torn last line and records that, puts a
 * broken chain aside under another name and begins a new one with a record that names it.
 * @throws StartupError when another process writes this log, the folder cannot be used, or an error of the
 *   log cannot be recorded
 */
export async function openAuditLog(requested: AuditLogOptions): Promise<AuditLog> {
  const { seal, timestamp } = requested
  mkdirSync(requested.folder, { recursive: true, mode: 0o700 })
  const unlock = lockFolder(requested.folder)
  try {
    const key = seal && (await openCheckpointKey(requested.folder, seal, formatStamp(requested.clock.now())))
    let closer: SegmentCloser | undefined
    const onNewFile = (): void => {
      closer?.tend()
      requested.onNewFile?.()
    }
    const keys = seal === undefined ? noLogKeys : await openLogKeys(requested.folder, seal)
    const logKey = seal && requested.encrypt === true ? ensureLogKey(requested.folder, seal, keys) : undefined
    const logKeys = logKey === undefined ? keys : new Map([...keys, [logKey.id, logKey.key]])
    const openFile = createEncryptingOpener(requested.openFile ?? openLogFile, logKeys, logKey)
    const encrypted = logKey !== undefined
    const options: Opening = { ...requested, key, logKeys, encrypted, openFile, onNewFile }
    const start = await recoverLog(options)
    const path = chooseFile(options, start.head)
    const begunAt = await readBeginTime(path, logKeys)
    const writer = new AuditWriter(
      begunAt === undefined ? options : { ...options, begunAt },
      path,
      start.head,
    )
    syncFolder(options.folder)
    if (start.repair !== undefined) {
      await recordRepair(options, writer, path, start.repair)
      const { operation, details } = start.repair.event
      if (operation === 'audit.chain_sealed')
        requested.onDamage?.(String(details?.sealed ?? ''), 'its chain is broken: run warder audit verify')
    }
    if (key !== undefined) {
      const record = (event: AuditEvent): Promise<void> => writeDurably(writer, event)
      if (key.made !== undefined)
        await record({
          ...createOwnEvent(options.clock.now(), 'audit.checkpoint_key'),
          details: { ...key.made },
        })
      closer = startCloser({
        ...options,
        keys: logKeys,
        signer: key.signer,
        record,
        ...(timestamp && { timestamp }),
        ...(requested.onDamage && { onDamage: requested.onDamage }),
      })
      closer.tend()
    }
    return createAuditLog(options, writer, closer, unlock)
  } catch (error) {
    unlock()
    if (!(error instanceof Error && 'code' in error)) throw error
    const why =
      describeFullDisk(error, join(requested.folder, 'audit')) ??
      `${error.message}. Its files must be readable and writable for this user.`
    throw new StartupError(`audit: the log in ${requested.folder} cannot be used: ${why}`)
  }
}

/** The repair of a damaged log. */
interface Repair {
  readonly event: AuditEvent
  /** @param path the file that the log continues in */
  undo(path: string): void
}

interface Start {
  readonly head: ChainHead
  readonly repair?: Repair
}

/** Records the repair before anything else is opened: a start that cannot record it restores the previous state. */
async function recordRepair(
  options: WriterOptions,
  writer: AuditWriter,
  path: string,
  { event, undo }: Repair,
): Promise<void> {
  try {
    await writeDurably(writer, event)
  } catch (error) {
    await writer.close()
    undo(path)
    syncFolder(options.folder)
    const { cause = error } = error as Error
    throw new StartupError(
      `audit: the log in ${options.folder} is incomplete, and the record about this cannot be written: ${cause instanceof Error ? cause.message : cause}`,
    )
  }
}

/** Chooses the last file, or a new one when the last has another form than the settings require. */
function chooseFile({ folder, encrypted }: Opening, head: ChainHead): string {
  const last = listLogFiles(folder).at(-1)?.path
  if (last !== undefined && isEncryptedName(last) === encrypted) return last
  // It is empty, so the other file gets its name.
  if (last !== undefined && statSync(last).size === 0) rmSync(last)
  return formatLogFileName(folder, head.seq + 1, encrypted)
}

/** Unix milliseconds: the time of the first record of a file. */
async function readBeginTime(path: string, keys: LogKeys): Promise<number | undefined> {
  if (!existsSync(path)) return undefined
  for await (const { bytes } of readLines(path, { keys })) {
    const { time } = JSON.parse(bytes.toString('utf8')) as { readonly time: string }
    return Date.parse(time)
  }
  return undefined
}

/** Resolves when the record is on disk. */
function writeDurably(writer: AuditWriter, event: AuditEvent): Promise<void> {
  return new Promise((resolve, reject) => {
    writer.add(event, (error) => (error === undefined ? resolve() : reject(error)))
  })
}

async function recoverLog(options: Opening): Promise<Start> {
  const keys = options.key === undefined ? [] : [options.key.signer.publicKey]
  const result = await verifyAudit(options.folder, {
    keys,
    fromCheckpoints: true,
    logKeys: options.logKeys,
  })
  const now = options.clock.now()
  if (result.firstBroken !== undefined) return replaceBrokenLog(options, result.firstBroken)
  const [unread] = result.unread
  if (unread !== undefined) return replaceBrokenLog(options, { file: unread, line: 0, reason: foreignKey })
  const head = result.head ?? beginning
  if (result.torn === undefined) return { head }
  return { head, repair: cutTornTail(options, result.torn, now) }
}

const foreignKey = 'it is encrypted with a key that this database does not contain'

/**
 * Cuts off a torn tail. A tail with a hole may be followed by complete records, so it is kept in a separate
 * file.
 */
function cutTornTail({ log }: WriterOptions, tornTail: TornTail, now: number): Repair {
  const { file, at, hole, encrypted } = tornTail
  const tail = readTail(file, at)
  const sha256 = createHash('sha256').update(tail).digest('hex')
  const bytes = tail.length
  const isKept = hole || encrypted
  const kept = isKept ? keepTail(file, tail, formatStamp(now)) : undefined
  truncateSync(file, at)
  log.warn({ file, bytes, kept }, 'the incomplete end of the audit log was removed')
  const details = { bytes, sha256, ...(kept !== undefined && { kept: basename(kept) }) }
  const operation = isKept ? 'audit.torn_tail_removed' : 'audit.torn_line_removed'
  return {
    event: { ...createOwnEvent(now, operation), details },
    undo() {
      if (existsSync(file)) truncateSync(file, at)
      appendFileSync(file, tail)
      if (kept !== undefined) rmSync(kept)
    },
  }
}

function formatStamp(now: number): string {
  return new Date(now).toISOString().replaceAll(/[:.]/g, '-')
}

async function replaceBrokenLog(options: WriterOptions, firstBroken: BrokenAt): Promise<Start> {
  const now = options.clock.now()
  const stamp = formatStamp(now)
  const paths = listAllFiles(options.folder)
  const sealed = await setAside(paths, stamp)
  const brokenAt = {
    file: basename(firstBroken.file),
    line: firstBroken.line,
    reason: firstBroken.reason,
  }
  options.log.error(
    { sealed, brokenAt },
    'the audit chain is broken; the log was set aside and a new chain begins',
  )
  const event = {
    ...createOwnEvent(now, 'audit.chain_sealed'),
    outcome: 'failure' as const,
    details: { sealed, broken_at: brokenAt },
  }
  const undo = (begun: string): void => {
    rmSync(begun, { force: true })
    putBack(paths, stamp)
  }
  return { head: beginning, repair: { event, undo } }
}

function createAuditLog(
  options: Opening,
  writer: AuditWriter,
  closer: SegmentCloser | undefined,
  unlock: () => void,
): AuditLog {
  const ports = new Set<MessagePort>()
  const trail: AuditTrail = {
    mode: options.mode,
    record: (event) => writer.add(event),
    recordDurably: (event) => writeDurably(writer, event),
    flush: () => writer.flush(),
    probe: () => writer.probe(),
  }
  return {
    trail,
    connect() {
      const { port1, port2 } = new MessageChannel()
      ports.add(port1)
      port1.on('close', () => ports.delete(port1))
      port1.on('message', (message: ToWriter) => receive(writer, port1, message))
      return { port: port2, node: options.node, service: options.service }
    },
    get head() {
      return writer.head
    },
    keys: options.logKeys,
    get waiting() {
      return writer.waiting
    },
    get writable() {
      return writer.writable
    },
    async whenIdle() {
      await closer?.idle()
    },
    async close() {
      try {
        await closer?.stop()
        await writer.close()
      } finally {
        for (const port of ports) port.close()
        unlock()
      }
    },
  }
}

function receive(writer: AuditWriter, port: MessagePort, message: ToWriter): void {
  if (message.type !== 'records') {
    const { id } = message
    const done = message.type === 'flush' ? writer.flush() : writer.probe()
    done.then(
      () => port.postMessage({ written: [id], failed: [] } satisfies FromWriter),
      () => port.postMessage({ written: [], failed: [id] } satisfies FromWriter),
    )
    return
  }
  const { batch, durable, lost } = message
  writer.countLost(lost)
  if (batch === undefined) return
  // One answer for all durable records of a message: they are written together or not at all.
  const settleBatch = (error: Error | undefined): void => {
    const answer = error === undefined ? { written: durable, failed: [] } : { written: [], failed: durable }
    port.postMessage(answer satisfies FromWriter)
  }
  writer.addBatch(batch, durable.length, durable.length === 0 ? undefined : settleBatch)
  port.postMessage({ taken: batch.count } satisfies FromWriter)
}
