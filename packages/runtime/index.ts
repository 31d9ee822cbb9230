export { type FipsProvider, readFipsProvider } from './fips/provider.ts'
export { nodeProofHeader } from './lifecycle/audit-nodes.ts'
export { type AuditReaderServices, auditOperations } from './lifecycle/audit-operations.ts'
export { type AuditSearchConfig, createAuditSearch } from './lifecycle/audit-search.ts'
export { createFairQueue, type QueueOwner } from './lifecycle/fair-queue.ts'
export {
  createHealthReader,
  type HealthDetailsServices,
  type HealthReader,
  healthDetailsOperation,
} from './lifecycle/health-details.ts'
export { readableDatabase } from './lifecycle/health-parts.ts'
export { sharedRateSlots } from './lifecycle/launch.ts'
export {
  authorityOperation,
  createLocalAuthorityReader,
  type LocalAuthorityReader,
} from './lifecycle/local-authority.ts'
export { createReceivers } from './lifecycle/notice-jobs.ts'
export { startMetricsListener } from './lifecycle/primary-measurements.ts'
export type {
  PeriodicWork,
  ServiceDefinition,
  ServiceEnvironment,
  ServiceInstance,
  Shared,
} from './lifecycle/service.ts'
export { createLogger } from './logger.ts'
export { createMetrics } from './metrics.ts'
export { noticeMigrations, raiseMark, readMark } from './notices/notice-store.ts'
export {
  createNotices,
  type NoticeDefinition,
  type NoticeEvents,
  type Notices,
} from './notices/notices.ts'
export { NoticeTestReply, NoticeTestRequest, testReceivers } from './notices/receiver-probe.ts'
export type { NoticeReceiver } from './notices/receivers.ts'
