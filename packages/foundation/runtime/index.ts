import type { ServiceLaunch } from './launch.ts'
import type { RunningService } from './primary.ts'

export { type Clock, systemClock, unixSeconds } from '../clock/clock.ts'
export { takeLock } from '../locks/process-lock.ts'
export { BoundedMap } from '../memory/bounded-map.ts'
export { KeyedLimiter } from '../memory/keyed-limiter.ts'
export { Secret } from '../memory/secret.ts'
export { type SweptConnection, startIdleSweep } from '../net/idle-sweep.ts'
export { type ListenOptions, listenOn } from '../net/listen.ts'
export { RequestBatcher } from '../net/request-batcher.ts'
export {
  type CopiedSchema,
  type DatabaseRestore,
  openSnapshot,
  restoreDatabase,
} from './copy-database.ts'
export { type DatabaseLocation, openSealedDatabase, toDatabaseLocation } from './database.ts'
export { createFairQueue, type FairQueue, type QueueOwner } from './fair-queue.ts'
export { readableDatabase } from './health-parts.ts'
export { type RuntimeConfig, rootKeySource, type ServiceLaunch, sharedRateSlots } from './launch.ts'
export { readRememberedSeq } from './lost-audit.ts'
export { startMetricsListener } from './metrics-listener.ts'
export { writeNote } from './notes.ts'
export type { RunningService } from './primary.ts'
export { readSealed } from './read-sealed.ts'
export type * from './service.ts'
export { inspectDatabase } from './usable-database.ts'

/** See `validate-settings.ts`: checks without a start what a start of this service would refuse. @throws StartupError */
export async function checkSettings(launch: ServiceLaunch): Promise<readonly string[]> {
  const { checkLaunch } = await import('./validate-settings.ts')
  return checkLaunch(launch)
}

/** See `primary.ts`, which is loaded only when a service is started. */
export async function runService(launch: ServiceLaunch): Promise<RunningService> {
  const primary = await import('./primary.ts')
  return primary.runService(launch)
}
