import type { ServiceLaunch } from './launch.ts'
import type { RunningService } from './primary.ts'

export { setBounded } from './bounded-map.ts'
export { type Clock, systemClock, unixSeconds } from './clock.ts'
export { connect, type DatabasePlace, databasePlace, openSealedDatabase } from './database.ts'
export { createFairQueue, type FairQueue, type QueueOwner } from './fair-queue.ts'
export { readableDatabase } from './health-parts.ts'
export { openHome, writeOnce } from './home.ts'
export { type SweptConnection, startIdleSweep } from './idle-sweep.ts'
export { type RuntimeConfig, rootKeySource, type ServiceLaunch } from './launch.ts'
export { type ListenOptions, listenOn } from './listen.ts'
export { baseUrlOf, type ClaimedPort, canSharePort, claimPort } from './ports.ts'
export type { RunningService } from './primary.ts'
export { takeLock } from './process-lock.ts'
export { Secret } from './secret.ts'
export type * from './service.ts'
export { Shares } from './shares.ts'
export { Stages } from './stages.ts'
export { inHome } from './tls-material.ts'

/** See `primary.ts`; loaded when a service is started, not by everything that knows a clock. */
export async function runService(launch: ServiceLaunch): Promise<RunningService> {
  const primary = await import('./primary.ts')
  return primary.runService(launch)
}
