import type { ServerResponse } from 'node:http'
import type { AuditEvent, PreparedCommit } from '@warder/audit'
import { failure, type Logger } from '@warder/base'
import { type Change, type ChangeResult, type Commit, OutcomeUnknown } from '@warder/storage'
import type { AuditFields, ErrorShape, Operation, OperationContext, Principal } from '../operations/types.ts'
import type { RequestTrace } from '../tracing/tracer.ts'
import type { BodyReservation } from './body-budget.ts'
import type { Connection } from './connections.ts'
import type { CompiledOperation } from './input.ts'
import type { BodyMessage } from './node-internals/body-message.ts'
import type { ServiceServerOptions } from './options.ts'
import type { HttpRequest } from './request.ts'

/** One request on its way through the server, and the context that its handler sees. */
export class Exchange<Services> implements OperationContext<Services> {
  readonly options: ServiceServerOptions<Services>
  readonly request: HttpRequest
  readonly message: BodyMessage
  readonly response: ServerResponse
  readonly connection: Connection
  readonly startedAt: number
  principal: Principal | undefined
  /** undefined = no operation matches. */
  compiled: CompiledOperation<Services> | undefined
  parameters: Readonly<Record<string, string>> | undefined
  /** Methods of a path that does not support this method. */
  allow: readonly string[] | undefined
  /** Shape of errors below this path, for requests that no operation answers. */
  errorShapeHere: ErrorShape | undefined
  /** The path matches a route, but its parameters cannot be decoded. */
  routeFailure: unknown
  preflightAnyOrigin = false
  /** The body's share in the budget. */
  reservation: BodyReservation | undefined
  /** undefined = the request is not traced. */
  trace: RequestTrace | undefined
  /** Status in the audit record that is on disk. */
  recordedStatus: number | undefined
  /** State of the changes; unknown = the answer to the commit was lost. */
  outcome: 'uncommitted' | 'committed' | 'unknown' = 'uncommitted'
  /** The commit that the first record comes before. */
  preparedCommit: PreparedCommit | undefined
  found: unknown
  #recorded = false
  #fields: AuditFields | undefined
  #log: Logger | undefined

  constructor(
    options: ServiceServerOptions<Services>,
    request: HttpRequest,
    message: BodyMessage,
    response: ServerResponse,
    connection: Connection,
  ) {
    this.options = options
    this.request = request
    this.message = message
    this.response = response
    this.connection = connection
    this.startedAt = options.clock.monotonic()
  }

  get services(): Services {
    return this.options.services
  }

  get log(): Logger {
    this.#log ??= this.options.log.child({
      request_id: this.request.id,
      operation: this.operationName,
      ...(this.trace !== undefined && { trace_id: this.trace.traceId }),
    })
    return this.#log
  }

  get operation(): Operation<Services> | undefined {
    return this.compiled?.operation
  }

  get errorShape(): ErrorShape | undefined {
    return this.compiled === undefined ? this.errorShapeHere : this.compiled.operation.errorShape
  }

  get operationName(): string {
    return this.compiled?.operation.name ?? 'http.unmatched'
  }

  get successStatus(): number {
    return this.compiled?.operation.status ?? 200
  }

  /** A CORS preflight or another OPTIONS request, which runs no operation. */
  get isOptions(): boolean {
    return this.message.method === 'OPTIONS'
  }

  get audited(): boolean {
    return !this.isOptions && !this.#recorded && this.compiled?.operation.audited !== false
  }

  // Handlers use the following members without `this`; they are created on first use, since most requests need them once or
  // never.

  get audit(): (fields: AuditFields) => void {
    return (fields) => {
      this.#fields = mergeAuditFields(this.#fields, fields)
    }
  }

  get recorded(): () => void {
    return () => {
      this.#recorded = true
    }
  }

  get commit(): Commit {
    return (changes) => this.#commit(changes)
  }

  /**
   * In audit mode `reject` the success of this request is on disk before its first commit: a handler must set the fields of
   * the record before it commits. A second record corrects a success that did not happen.
   */
  async #commit(changes: readonly Change[]): Promise<readonly ChangeResult[]> {
    const { audit, commit } = this.options
    if (audit.mode === 'reject' && this.audited && this.recordedStatus === undefined) await this.#announce()
    const { preparedCommit } = this
    try {
      const results =
        preparedCommit === undefined ? await commit(changes) : await preparedCommit.commit(commit, changes)
      this.outcome = 'committed'
      return results
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.outcome = 'unknown'
      throw error
    }
  }

  async #announce(): Promise<void> {
    const preparedCommit = await this.options.audit.commits?.begin()
    this.preparedCommit = preparedCommit
    await this.recordDurably(this.successStatus, undefined, preparedCommit && { commit: preparedCommit.id })
    preparedCommit?.markPrepared()
  }

  /** Rejects only with failure('audit_unavailable'). */
  async recordDurably(
    status: number,
    reason: string | undefined,
    details: Readonly<Record<string, unknown>> | undefined,
  ): Promise<void> {
    const event = this.auditEvent(status, reason, details)
    try {
      await this.options.audit.recordDurably(event)
    } catch (cause) {
      throw failure('audit_unavailable', cause instanceof Error ? cause.message : String(cause), { cause })
    }
    this.recordedStatus = status
  }

  auditEvent(
    status: number,
    reason: string | undefined,
    moreDetails: Readonly<Record<string, unknown>> | undefined,
    durationMs = this.durationMs(),
  ): AuditEvent {
    const { clock } = this.options
    const fields = this.#fields ?? noFields
    const realm = fields.realm ?? this.principal?.realm
    const why = fields.reason ?? reason
    const details = moreDetails === undefined ? fields.details : { ...fields.details, ...moreDetails }
    const event: { -readonly [Key in keyof AuditEvent]: AuditEvent[Key] } = {
      time: clock.now(),
      request_id: this.request.id,
      operation: this.operationName,
      principal: fields.principal ?? this.principal?.name ?? 'unauthenticated',
      auth_method: fields.auth_method ?? this.principal?.method ?? 'none',
      client_ip: this.request.clientAddress,
      outcome: status < 400 ? 'success' : 'failure',
      status,
      duration_ms: durationMs,
    }
    if (realm !== undefined) event.realm = realm
    if (fields.object !== undefined) event.object = fields.object
    if (fields.algorithm !== undefined) event.algorithm = fields.algorithm
    if (why !== undefined) event.reason = why
    if (details !== undefined) event.details = details
    return event
  }

  /** Milliseconds so far. */
  durationMs(): number {
    return this.options.clock.monotonic() - this.startedAt
  }
}

const noFields: AuditFields = Object.freeze({})

/** Merges the audit fields of a request: later values replace earlier ones, details are added. */
export function mergeAuditFields(before: AuditFields | undefined, more: AuditFields): AuditFields {
  if (before === undefined) return more
  if (before.details === undefined || more.details === undefined) return { ...before, ...more }
  return { ...before, ...more, details: { ...before.details, ...more.details } }
}
