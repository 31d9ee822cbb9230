export { announcedCommitMigrations } from './announced-commit-store.ts'
export { type AnnouncedCommit, type AnnouncedCommits, announcedCommits } from './announced-commits.ts'
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
export { checkpointKeyId } from './checkpoint.ts'
export { publicCheckpointKey, readCheckpointSigner } from './checkpoint-key.ts'
export { auditClient } from './client.ts'
export { type LogKey, type LogKeys, noLogKeys } from './encrypted-bytes.ts'
export { cef, type ExportFormat, type ExportOptions, exportAudit, type RecordFilter } from './export.ts'
export { type LogFile, type OpenLogFile, openLogFile } from './files.ts'
export { commitsOperation, type KnownCommits, knownCommits } from './known-commits.ts'
export { findRememberedHead, rememberHead } from './known-head-store.ts'
export { type AuditLog, type AuditLogOptions, openAuditLog } from './log.ts'
export { openLogKeys } from './log-keys.ts'
export type { AuditConnection } from './messages.ts'
export { LogReader, type ReadRecord } from './reader.ts'
export type { ChainHead } from './record.ts'
export { closedHead } from './segments.ts'
export { settleAnnounced } from './settle-announced.ts'
export { type TailOptions, tailAudit } from './tail.ts'
export {
  type TimestampAnchors,
  type TimestampReport,
  timestampAnchors,
  timestampAuthority,
  verifyTimestamps,
} from './time-stamps.ts'
export type * from './types.ts'
export { type BrokenAt, type Verdict, verifyAudit } from './verify.ts'
export { ownEvent } from './writer.ts'
