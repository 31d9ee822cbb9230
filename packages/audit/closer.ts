import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { Clock, Logger, Metrics } from '@warder/base'
import {
  type CheckpointSigner,
  follows,
  isRemovalSignedBy,
  isSignedBy,
  type Removal,
  type SignedCheckpoint,
  toChainHead,
} from './checkpoint.ts'
import type { LogKeys } from './encrypted-bytes.ts'
import { createExaminer, type Examiner } from './examiner.ts'
import { exportAudit } from './export.ts'
import { beginning, type ChainHead } from './record.ts'
import { RecordedRemovals, removalOperation, unknownRemover } from './removals.ts'
import {
  formatSegmentName,
  isPresent,
  listSegments,
  readSegment,
  type Segment,
  writeCheckpoint,
  writeRemoval,
} from './segments.ts'
import type { AuditEvent } from './types.ts'
import { createOwnEvent } from './writer.ts'

export interface CloserOptions {
  readonly folder: string
  readonly service: string
  readonly node: string
  readonly signer: CheckpointSigner
  /** Of encrypted files. */
  readonly keys: LogKeys
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics | undefined
  /** Resolves when the record is on disk. */
  record(event: AuditEvent): Promise<void>
  /** Requests a time-stamp token for a new checkpoint, base64 of its DER; undefined = time stamps are off. */
  timestamp?(signature: string): Promise<string>
  /** A closed file was changed, or is missing. */
  onDamage?(file: string, problem: string): void
  /** After a round that failed; default a minute. */
  readonly retryMs?: number
}

const defaultRetryMs = 60_000

/**
 * Maintains the closed files of a log: signs a checkpoint of each full file, records removed files, and verifies old
 * files again. It does one thing at a time, and recording does not wait for it.
 */
export interface SegmentCloser {
  /** Called at the start and whenever the log continues in a new file. */
  tend(): void
  /** Resolves when nothing is left to do now. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export function startCloser(options: CloserOptions): SegmentCloser {
  const { folder, log, retryMs = defaultRetryMs } = options
  const examiner = createExaminer(options.keys)
  const work = new Closing(options, examiner, () => {
    again = true
  })
  let running: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined
  let again = false
  let stopped = false
  const run = async (): Promise<void> => {
    do {
      again = false
      await work.round(() => stopped)
    } while (again && !stopped)
  }
  const tend = (): void => {
    again = true
    clearTimeout(retry)
    running ??= run()
      .catch((error: unknown) => {
        if (stopped) return
        log.error({ error, folder }, 'the maintenance of closed audit files failed and will be repeated')
        // On a full disk no checkpoint can be written, and without one no file can be archived to make room.
        retry = setTimeout(tend, retryMs).unref()
      })
      .finally(() => {
        running = undefined
      })
  }
  return {
    tend,
    async idle() {
      while (running !== undefined) await running
    },
    async stop() {
      stopped = true
      clearTimeout(retry)
      await examiner.stop()
      while (running !== undefined) await running
    },
  }
}

class Closing {
  readonly #options: CloserOptions
  readonly #examiner: Examiner
  /** Files whose digest was compared since the start, or that were reported. */
  readonly #seen = new Set<number>()
  #recorded: Promise<RecordedRemovals> | undefined

  readonly #again: () => void

  /** @param again requests another round */
  constructor(options: CloserOptions, examiner: Examiner, again: () => void) {
    this.#options = options
    this.#examiner = examiner
    this.#again = again
  }

  async round(stopped: () => boolean): Promise<void> {
    let head: ChainHead = beginning
    const segments = listSegments(this.#options.folder)
    for (const [index, segment] of segments.entries()) {
      if (stopped()) return
      const { signed } = segment
      const isLast = index === segments.length - 1
      const own = signed !== undefined && isSignedBy([this.#options.signer.publicKey], signed)
      if (own && follows(signed.checkpoint, head)) {
        head = toChainHead(signed.checkpoint)
        await this.#verifyAgain(segment, stopped)
      } else {
        // The last one is being written.
        if (isLast && !segment.compressed) return
        const closed = await this.#close(segment, head)
        if (closed === undefined) return
        head = closed
      }
    }
  }

  /** @returns the state of the chain after it; undefined when it is incomplete */
  async #close(segment: Segment, from: ChainHead): Promise<ChainHead | undefined> {
    const { service, node, signer, clock, folder, log } = this.#options
    const { path, firstSeq } = segment
    if (path === undefined || this.#seen.has(firstSeq)) return undefined
    const found = await this.#examiner.examine(path, from)
    if (typeof found === 'string') {
      await this.#reportDamage(segment, found)
      return undefined
    }
    const { head, earliest, latest, bytes, sha256, stored } = found
    const signed = signer.sign({
      version: 1,
      service,
      node,
      file: formatSegmentName(segment),
      first_seq: firstSeq,
      last_seq: head.seq,
      first_prev: from.hash,
      last_hash: head.hash,
      earliest,
      latest,
      bytes,
      sha256,
      ...(stored && { stored_bytes: stored.bytes, stored_sha256: stored.sha256 }),
      closed_at: new Date(clock.now()).toISOString(),
      key: signer.keyId,
    })
    writeCheckpoint(folder, signed)
    this.#seen.add(firstSeq)
    log.info(
      { file: formatSegmentName(segment), records: found.records },
      'an audit file was closed and signed',
    )
    await this.#stamp(signed)
    return head
  }

  /** An unreachable authority is asked again at the next start, and when the next file is full. */
  async #stamp(signed: SignedCheckpoint): Promise<void> {
    const { folder, log, timestamp } = this.#options
    if (timestamp === undefined) return
    try {
      writeCheckpoint(folder, { ...signed, timestamp: await timestamp(signed.signature) })
    } catch (error) {
      log.warn(
        { error, file: signed.checkpoint.file },
        'a checkpoint of the audit log has no time stamp, because the authority returned no valid one; the request will be repeated',
      )
    }
  }

  /**
   * Once for each start: reports a file that has changed since it was closed, or is missing. A file that could not be read,
   * because the service stops or for another reason, is not reported as changed: it is read again.
   */
  async #verifyAgain(segment: Segment, stopped: () => boolean): Promise<void> {
    const { path, signed, firstSeq } = segment
    if (signed === undefined) return
    if (path === undefined) {
      await this.#recordRemoval(segment)
      return
    }
    if (signed.timestamp === undefined) await this.#stamp(signed)
    if (this.#seen.has(firstSeq)) return
    const isSame = await this.#isSame(path, signed, isPresent(segment))
    if (stopped()) return
    // Archived or removed meanwhile: its present form is read in the next round.
    const isMoved = !isSame && readSegment(this.#options.folder, firstSeq).path !== path
    if (isMoved) return this.#again()
    this.#seen.add(firstSeq)
    if (!isSame) await this.#reportDamage(segment, 'it has changed since it was closed')
  }

  async #isSame(path: string, { checkpoint }: SignedCheckpoint, isPresentNow: boolean): Promise<boolean> {
    if (!isPresentNow) return false
    try {
      const { bytes, sha256 } = await this.#examiner.digest(path)
      return bytes === checkpoint.bytes && sha256 === checkpoint.sha256
    } catch (error) {
      if (existsSync(path)) throw error
      return false
    }
  }

  async #recordRemoval({ signed }: Segment): Promise<void> {
    const { clock, folder, log, record, signer } = this.#options
    if (signed === undefined) return
    const { checkpoint } = signed
    const isSigned = isRemovalSignedBy([signer.publicKey], signed)
    if (isSigned && signed.removal?.recorded === true) return
    const isRecorded = !isSigned && signed.removal?.recorded === true && (await this.#hasRecord(signed))
    const removal = isSigned || isRecorded ? signed.removal : undefined
    const { signature: _, ...said }: Removal = removal ?? {
      at: new Date(clock.now()).toISOString(),
      by: unknownRemover,
    }
    if (said.by === unknownRemover)
      log.error(
        { file: checkpoint.file },
        'a closed audit file is missing, and its removal is not signed with the key of the log',
      )
    const { file, first_seq, last_seq, sha256 } = checkpoint
    const claimed = removal === undefined ? signed.removal?.by : undefined
    if (!isRecorded)
      await record({
        ...createOwnEvent(clock.now(), removalOperation),
        outcome: said.by === unknownRemover ? 'failure' : 'success',
        details: {
          file,
          first_seq,
          last_seq,
          sha256,
          ...said,
          ...(claimed !== undefined && { claimed_by: claimed }),
        },
      })
    writeRemoval(folder, signed, signer.signRemoval(checkpoint, { ...said, recorded: true }))
  }

  /** Removals that were recorded by a version without signatures. They are looked up once, and then signed. */
  async #hasRecord(signed: SignedCheckpoint): Promise<boolean> {
    this.#recorded ??= readRemovals(this.#options)
    return (await this.#recorded).has(signed)
  }

  async #reportDamage(segment: Segment, problem: string): Promise<void> {
    const { clock, log, metrics, record } = this.#options
    this.#seen.add(segment.firstSeq)
    const file = segment.path === undefined ? formatSegmentName(segment) : basename(segment.path)
    metrics?.count('audit_files_changed_total', {})
    log.error({ file, problem }, 'a closed audit file was changed: run warder audit verify')
    this.#options.onDamage?.(file, problem)
    await record({
      ...createOwnEvent(clock.now(), 'audit.file_changed'),
      outcome: 'failure',
      status: 500,
      details: { file, problem },
    })
  }
}

async function readRemovals({ folder, keys }: CloserOptions): Promise<RecordedRemovals> {
  const found = new RecordedRemovals()
  for await (const line of exportAudit({ folder, keys, format: 'json', operation: removalOperation }))
    found.addRecord(JSON.parse(line))
  return found
}
