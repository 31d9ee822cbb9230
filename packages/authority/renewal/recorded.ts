import { randomUUID } from 'node:crypto'
import type { AuditEvent, AuditTrail, PreparedCommit } from '@warder/audit'
import { type Clock, failure, type Logger, type Metrics } from '@warder/base'
import { type Explanation, explain, refusal, UnitOfWork, type UnitOfWorkServices } from '@warder/keys'
import { type AuditFields, mergeAuditFields } from '@warder/server'
import { type Database, GuardFailed, OutcomeUnknown } from '@warder/storage'

export interface RecordedServices extends UnitOfWorkServices {
  readonly db: Database
  readonly clock: Clock
  readonly audit: AuditTrail
  readonly log: Logger
  readonly metrics: Metrics
}

/** Work on behalf of a user outside of a request: its operation in audit records and metrics. */
export interface RecordedWork {
  readonly operation: string
  readonly principal: string
  /** Times in Unix milliseconds. */
  act(objects: UnitOfWork, now: number, audit: (fields: AuditFields) => void): Promise<string>
}

/** Maximum number of attempts when other requests commit first. */
const maxAttempts = 10

/**
 * Runs `work` and commits its staged changes, with one record of its outcome, like the KMIP engine for an
 * item.
 */
class RecordedRun {
  readonly #services: RecordedServices
  readonly #work: RecordedWork
  readonly #requestId = randomUUID()
  readonly #startedAt: number
  #fields: AuditFields | undefined
  /** The prepared commit, the same in all attempts; undefined: the commit is not tied to the record. */
  #prepared: PreparedCommit | undefined
  /** The audit log contains a success that was recorded before the commit. */
  #isOnDisk = false
  #outcome: 'uncommitted' | 'unknown' = 'uncommitted'

  constructor(services: RecordedServices, work: RecordedWork) {
    this.#services = services
    this.#work = work
    this.#startedAt = services.clock.monotonic()
  }

  /** @returns the result of `act`, or the reason of its failure */
  async run(): Promise<string | Explanation> {
    const { audit, metrics } = this.#services
    try {
      const result = await this.#attempts()
      const event = this.#event(200)
      metrics.operation(event.operation, event.status, event.duration_ms)
      if (audit.mode === 'continue') audit.record(event)
      return result
    } catch (error) {
      return this.#fail(explain(error))
    }
  }

  async #attempts(): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const { clock } = this.#services
      const now = clock.now()
      const objects = new UnitOfWork(this.#services, now)
      this.#fields = undefined
      try {
        const result = await this.#work.act(objects, now, (fields) => {
          this.#fields = mergeAuditFields(this.#fields, fields)
        })
        await this.#commit(objects, attempt)
        return result
      } catch (error) {
        if (error instanceof OutcomeUnknown) this.#outcome = 'unknown'
        if (!(error instanceof GuardFailed)) throw error
        if (attempt >= maxAttempts) throw refusal('GeneralFailure', 'It was changed concurrently: try again.')
      } finally {
        objects.clear()
      }
    }
  }

  /** In audit mode `reject` the record of the success is on disk before the change. */
  async #commit(objects: UnitOfWork, attempt: number): Promise<void> {
    const { audit, db } = this.#services
    const changes = await objects.changes()
    if (audit.mode === 'reject') {
      this.#prepared ??= await audit.commits?.begin()
      const commit = this.#prepared?.id
      const more = { ...(attempt > 1 && { attempt }), ...(commit !== undefined && { commit }) }
      await audit.recordDurably(this.#event(200, undefined, more))
      this.#prepared?.markPrepared()
      this.#isOnDisk = true
    }
    await (this.#prepared === undefined ? db.commit(changes) : this.#prepared.commit(db.commit, changes))
  }

  async #fail(explained: Explanation): Promise<Explanation> {
    const { audit, log, metrics } = this.#services
    const { reason, failure: told } = explained
    const about = { request_id: this.#requestId, operation: this.#work.operation, reason }
    if (told.status >= 500) log.error({ ...about, detail: told.detail }, 'a KMIP operation failed')
    else if (told.detail !== undefined)
      log.info({ ...about, detail: told.detail }, 'a KMIP operation was refused')
    const commit = this.#prepared?.id
    const follows = { follows: this.#outcome, ...(commit !== undefined && { commit }) }
    const event = this.#event(told.status, reason, this.#isOnDisk ? follows : {})
    metrics.operation(event.operation, event.status, event.duration_ms)
    if (audit.mode === 'continue') {
      audit.record(event)
      return explained
    }
    try {
      await audit.recordDurably(event)
      this.#prepared?.markResolved()
      return explained
    } catch (cause) {
      this.#prepared?.markInDoubt()
      if (this.#outcome === 'unknown') return explained
      return explain(failure('audit_unavailable', undefined, { cause }))
    }
  }

  #event(status: number, reason?: string, more: Readonly<Record<string, unknown>> = {}): AuditEvent {
    const { clock } = this.#services
    const { operation, principal } = this.#work
    const details = { ...this.#fields?.details, ...more }
    return {
      time: clock.now(),
      request_id: this.#requestId,
      operation,
      principal,
      auth_method: 'renewal',
      client_ip: '-',
      outcome: status < 400 ? 'success' : 'failure',
      status,
      duration_ms: Math.round((clock.monotonic() - this.#startedAt) * 1000) / 1000,
      ...(reason !== undefined && { reason }),
      ...this.#fields,
      ...(Object.keys(details).length > 0 && { details }),
    }
  }
}

/** @returns the result of `act`, or the reason of its failure; throws nothing */
export function runRecorded(services: RecordedServices, work: RecordedWork): Promise<string | Explanation> {
  return new RecordedRun(services, work).run()
}
