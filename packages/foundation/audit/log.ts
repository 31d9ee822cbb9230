import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, rmSync, truncateSync } from 'node:fs'
import { basename } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { StartupError } from '../errors/index.ts'
import { type BatchMemory, compacted } from './batch.ts'
import { openLogFile } from './files.ts'
import {
  keepTail,
  lockFolder,
  logFileName,
  logFiles,
  putBack,
  readTail,
  setAside,
  syncFolder,
} from './folder.ts'
import type { AuditConnection, FromWriter, ToWriter } from './messages.ts'
import { genesis } from './record.ts'
import type { AuditEvent, AuditTrail } from './types.ts'
import { type ChainHead, type TornTail, type Verdict, verifyAudit } from './verify.ts'
import { AuditWriter, ownEvent, type WriterOptions } from './writer.ts'

export type AuditLogOptions = Omit<WriterOptions, 'openFile'> & Partial<Pick<WriterOptions, 'openFile'>>

/** The audit log of a service, in its primary. */
export interface AuditLog {
  readonly trail: AuditTrail
  /** For one worker, to give to `auditClient`. */
  connect(): AuditConnection
  readonly head: ChainHead
  /** Writes what waits and lets go of the folder. */
  close(): Promise<void>
}

/**
 * Opens the log: verifies the whole chain, cuts a torn last line and records that, puts a broken chain aside under
 * another name and begins a new one with a record that names it.
 * @throws StartupError when another process writes this log, the folder cannot be used, or what was wrong with the log
 * cannot be recorded
 */
export async function openAuditLog(given: AuditLogOptions): Promise<AuditLog> {
  const options: WriterOptions = { ...given, openFile: given.openFile ?? openLogFile }
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  const unlock = lockFolder(options.folder)
  try {
    const start = await settle(options)
    const files = logFiles(options.folder)
    const path = files.at(-1)?.path ?? logFileName(options.folder, start.head.seq + 1)
    const writer = new AuditWriter(options, options.openFile(path), start.head)
    syncFolder(options.folder)
    if (start.repair !== undefined) await recordRepair(options, writer, path, start.repair)
    return auditLog(options, writer, unlock)
  } catch (error) {
    unlock()
    throw error instanceof Error && 'code' in error
      ? new StartupError(
          `audit: the log in ${options.folder} cannot be used: ${error.message}. Its files must be readable and writable for this user.`,
        )
      : error
  }
}

/** What was done to a log that was not whole. */
interface Repair {
  readonly event: AuditEvent
  /** @param path the file that the log goes on in */
  undo(path: string): void
}

interface Start {
  readonly head: ChainHead
  readonly repair?: Repair
}

/** Nothing is opened before the chain says what was put aside: a start that cannot write it leaves everything as it was. */
async function recordRepair(
  options: WriterOptions,
  writer: AuditWriter,
  path: string,
  { event, undo }: Repair,
): Promise<void> {
  try {
    await writtenBy(writer, event)
  } catch (error) {
    await writer.close()
    undo(path)
    syncFolder(options.folder)
    const { cause = error } = error as Error
    throw new StartupError(
      `audit: the log in ${options.folder} is not whole, and the record that says so cannot be written: ${cause instanceof Error ? cause.message : cause}`,
    )
  }
}

/** Resolves when the record is on disk. */
function writtenBy(writer: AuditWriter, event: AuditEvent): Promise<void> {
  return new Promise((resolve, reject) => {
    writer.add(event, (error) => (error === undefined ? resolve() : reject(error)))
  })
}

async function settle(options: WriterOptions): Promise<Start> {
  const verdict = await verifyAudit(options.folder)
  const now = options.clock.now()
  if (verdict.firstBroken !== undefined) return sealBroken(options, verdict)
  const head = verdict.head ?? { seq: 0, hash: genesis }
  if (verdict.torn === undefined) return { head }
  return { head, repair: cutTornTail(options, verdict.torn, now) }
}

/** A tail with a hole may hold whole records behind it: it is kept in a file of its own. */
function cutTornTail({ log }: WriterOptions, { file, at, hole }: TornTail, now: number): Repair {
  const tail = readTail(file, at)
  const sha256 = createHash('sha256').update(tail).digest('hex')
  const bytes = tail.length
  const kept = hole ? keepTail(file, tail, stampOf(now)) : undefined
  truncateSync(file, at)
  log.warn({ file, bytes, kept }, 'the end of the audit log was torn and has been cut')
  const details = { bytes, sha256, ...(kept !== undefined && { kept: basename(kept) }) }
  const operation = hole ? 'audit.torn_tail_removed' : 'audit.torn_line_removed'
  return {
    event: { ...ownEvent(now, operation), details },
    undo() {
      truncateSync(file, at)
      appendFileSync(file, tail)
      if (kept !== undefined) rmSync(kept)
    },
  }
}

function stampOf(now: number): string {
  return new Date(now).toISOString().replaceAll(/[:.]/g, '-')
}

async function sealBroken(options: WriterOptions, verdict: Verdict): Promise<Start> {
  const now = options.clock.now()
  const stamp = stampOf(now)
  const paths = logFiles(options.folder).map(({ path }) => path)
  const sealed = await setAside(paths, stamp)
  const { firstBroken } = verdict
  const brokenAt = {
    file: firstBroken?.file.slice(firstBroken.file.lastIndexOf('/') + 1),
    line: firstBroken?.line,
    reason: firstBroken?.reason,
  }
  options.log.error(
    { sealed, brokenAt },
    'the audit chain is broken; it was put aside and a new chain begins',
  )
  const event = {
    ...ownEvent(now, 'audit.chain_sealed'),
    outcome: 'failure' as const,
    details: { sealed, broken_at: brokenAt },
  }
  const undo = (begun: string): void => {
    rmSync(begun, { force: true })
    putBack(paths, stamp)
  }
  return { head: { seq: 0, hash: genesis }, repair: { event, undo } }
}

function auditLog(options: WriterOptions, writer: AuditWriter, unlock: () => void): AuditLog {
  const ports = new Set<MessagePort>()
  const trail: AuditTrail = {
    mode: options.mode,
    record: (event) => writer.add(event),
    recordDurably: (event) => writtenBy(writer, event),
    flush: () => writer.flush(),
    probe: () => writer.probe(),
  }
  return {
    trail,
    connect() {
      const { port1, port2 } = new MessageChannel()
      ports.add(port1)
      port1.on('close', () => ports.delete(port1))
      const spare: BatchMemory[] = []
      port1.on('message', (message: ToWriter) => receive(writer, port1, spare, message))
      return { port: port2, node: options.node, service: options.service }
    },
    get head() {
      return writer.head
    },
    async close() {
      try {
        await writer.close()
      } finally {
        for (const port of ports) port.close()
        unlock()
      }
    },
  }
}

/** @param spare memory of this worker's batches that are written; it goes back with the next answer */
function receive(writer: AuditWriter, port: MessagePort, spare: BatchMemory[], message: ToWriter): void {
  if (message.type !== 'records') {
    const { id } = message
    const done = message.type === 'flush' ? writer.flush() : writer.probe()
    done.then(
      () => port.postMessage({ written: [id], failed: [] } satisfies FromWriter),
      () => port.postMessage({ written: [], failed: [id] } satisfies FromWriter),
    )
    return
  }
  const { batch: sent, durable, lost } = message
  writer.lose(lost)
  if (sent === undefined) return
  const small = writer.behind ? compacted(sent) : undefined
  const batch = small ?? sent
  if (small !== undefined) spare.push({ bytes: sent.bytes, marks: sent.marks })
  // One answer for the durable records of a message: they come to the disk together, or none of them does.
  const settled = (error: Error | undefined): void => {
    if (small === undefined) spare.push({ bytes: batch.bytes, marks: batch.marks })
    if (durable.length === 0) return
    const answer = error === undefined ? { written: durable, failed: [] } : { written: [], failed: durable }
    port.postMessage(answer satisfies FromWriter)
  }
  writer.addBatch(batch, durable.length, settled)
  const memory = spare.splice(0)
  port.postMessage(
    { taken: batch.count, seqDigits: writer.seqDigits, memory } satisfies FromWriter,
    memory.flatMap(({ bytes, marks }) => [bytes.buffer, marks.buffer]),
  )
}
