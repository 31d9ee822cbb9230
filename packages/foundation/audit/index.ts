export {
  type ArchiveOptions,
  archiveOld,
  type Done,
  type OldFiles,
  type PruneOptions,
  pruneOld,
  type UnlockedLog,
} from './archive.ts'
export { canonicalJson } from './canonical.ts'
export { computeCheckpointKeyId } from './checkpoint.ts'
export { readCheckpointSigner, readPublicCheckpointKey } from './checkpoint-key.ts'
export { createAuditClient } from './client.ts'
export { type LogKey, type LogKeys, noLogKeys } from './encrypted-bytes.ts'
export { type ExportFormat, type ExportOptions, exportAudit, formatCef, type RecordFilter } from './export.ts'
export { type LogFile, type OpenLogFile, openLogFile } from './files.ts'
export { commitsOperation, type KnownCommits, readKnownCommits } from './known-commits.ts'
export { findRememberedHead, rememberHead } from './known-head-store.ts'
export { type AuditLog, type AuditLogOptions, openAuditLog } from './log.ts'
export { openLogKeys } from './log-keys.ts'
export type { AuditConnection } from './messages.ts'
export { preparedCommitMigrations } from './prepared-commit-store.ts'
export { createPreparedCommits, type PreparedCommit, type PreparedCommits } from './prepared-commits.ts'
export { LogReader, type ReadRecord } from './reader.ts'
export type { ChainHead } from './record.ts'
export { resolvePreparedCommits } from './resolve-prepared.ts'
export { readClosedHead } from './segments.ts'
export { type TailOptions, tailAudit } from './tail.ts'
export {
  createTimestampAuthority,
  readTimestampAnchors,
  type TimestampAnchors,
  type TimestampReport,
  verifyTimestamps,
} from './time-stamps.ts'
export type * from './types.ts'
export { type BrokenAt, type VerifyResult, verifyAudit } from './verify.ts'
export { createOwnEvent } from './writer.ts'
