export { type AuditReaderServices, auditOperations } from './lifecycle/audit-operations.ts'
export { createAuditSearch } from './lifecycle/audit-search.ts'
export {
  type CopiedSchema,
  type DatabaseRestore,
  openSnapshot,
  restoreDatabase,
} from './lifecycle/copy-database.ts'
export {
  type DatabaseLocation,
  openSealedDatabase,
  readSealed,
  toDatabaseLocation,
} from './lifecycle/database.ts'
export { createFairQueue, type QueueOwner } from './lifecycle/fair-queue.ts'
export { readableDatabase } from './lifecycle/health-parts.ts'
export { type RuntimeConfig, rootKeySource, type ServiceLaunch, sharedRateSlots } from './lifecycle/launch.ts'
export { readRememberedSeq } from './lifecycle/lost-audit.ts'
export { type RunningService, writeNote } from './lifecycle/primary.ts'
export { startMetricsListener } from './lifecycle/primary-measurements.ts'
export type {
  PeriodicWork,
  ServiceDefinition,
  ServiceEnvironment,
  ServiceInstance,
} from './lifecycle/service.ts'
export { checkSettings, runService } from './lifecycle/service-start.ts'
export { inspectDatabase } from './lifecycle/usable-database.ts'
export { createLogger } from './logger.ts'
export { createMetrics } from './metrics.ts'
