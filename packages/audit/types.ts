import type { PreparedCommits } from './prepared-commits.ts'

/** An operation's own part of a record; the writer adds seq, service, node, prev and hash. */
export interface AuditEvent {
  readonly time: number // Unix milliseconds
  readonly request_id: string
  readonly operation: string
  readonly principal: string // 'unauthenticated' without a principal
  readonly auth_method: string // 'none' without a principal
  readonly realm?: string
  readonly object?: string
  readonly algorithm?: string
  readonly client_ip: string
  readonly outcome: 'success' | 'failure'
  readonly status: number
  readonly reason?: string
  readonly duration_ms: number
  readonly details?: Readonly<Record<string, unknown>>
}

export type AuditFailureMode = 'continue' | 'reject'

/** The interface of workers to the audit log. */
export interface AuditTrail {
  readonly mode: AuditFailureMode
  /** `continue`: returns at once; records that cannot be written are counted, and the next one states their number. */
  record(event: AuditEvent): void
  /** Resolves when the record is on disk (fsynced); rejects with failure('audit_unavailable') when it cannot be. */
  recordDurably(event: AuditEvent): Promise<void>
  /** Resolves when everything recorded so far is on disk or counted as lost. */
  flush(): Promise<void>
  /** Resolves when a record can be written now: tries it in the file, which stays unchanged. */
  probe?(): Promise<void>
  /** `reject`: links successes that are recorded before their commit to that commit. undefined: there are none. */
  readonly commits?: PreparedCommits | undefined
}
