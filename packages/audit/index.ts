export { archiveOld, type Done, pruneOld, type UnlockedLog } from './archive.ts'
export { isRecordWhole } from './check-record.ts'
export { computeCheckpointKeyId } from './checkpoint.ts'
export { readCheckpointSigner, readPublicCheckpointKey } from './checkpoint-key.ts'
export { createAuditClient } from './client.ts'
export { type LogKeys, noLogKeys } from './encrypted-bytes.ts'
export { type ExportFormat, exportAudit, type RecordFilter } from './export.ts'
export { createCollectorTarget } from './forward/collector.ts'
export type { ForwardTarget } from './forward/forwarder.ts'
export { startForwarder } from './forward/forwarder.ts'
export { createSyslogTarget } from './forward/syslog.ts'
export { commitsOperation, type KnownCommits, readKnownCommits } from './known-commits.ts'
export {
  type AuditNodeRow,
  findRememberedHead,
  forgetNode,
  listAuditNodes,
  readNodeKey,
  rememberHead,
  rememberNode,
} from './known-head-store.ts'
export { type AuditLog, openAuditLog } from './log.ts'
export { openIndexKey, openLogKeys } from './log-keys.ts'
export type { AuditConnection } from './messages.ts'
export { preparedCommitMigrations } from './prepared-commit-store.ts'
export { createPreparedCommits, type PreparedCommit } from './prepared-commits.ts'
export { LogReader } from './reader.ts'
export type { ChainHead } from './record.ts'
export { resolvePreparedCommits } from './resolve-prepared.ts'
export { type CountBucket, maxBuckets } from './search/collectors.ts'
export {
  formatCsvCell,
  formatCsvRow,
  formatHead,
  formatRecordAs,
  type RecordFormat,
  recordFormats,
} from './search/formats.ts'
export { AuditThread } from './search/jobs.ts'
export { type IndexKeeper, startIndexKeeper } from './search/keeper.ts'
export type { CountPage, SearchPage } from './search/search.ts'
export { isMatchingLine, parseLine, readPosition, type SearchFilter } from './search/terms.ts'
export { readClosedHead } from './segments.ts'
export { tailAudit } from './tail.ts'
export {
  createTimestampAuthority,
  readTimestampAnchors,
  type TimestampAnchors,
  verifyTimestamps,
} from './time-stamps.ts'
export type { AuditEvent, AuditFailureMode, AuditTrail } from './types.ts'
export { type VerifyResult, verifyAudit } from './verify.ts'
export { createOwnEvent } from './writer.ts'
