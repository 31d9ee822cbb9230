export { type Clock, systemClock, unixSeconds } from './clock.ts'
export { CodedError } from './errors/coded-error.ts'
export { describeFullDisk, describeWriteError } from './errors/disk-full.ts'
export { Failure, failure, StartupError, toFailure } from './errors/failure.ts'
export { type ErrorKind, type ErrorKindRow, errorKinds } from './errors/kinds.ts'
export { suggest } from './errors/nearest.ts'
export { BoundedMap } from './memory/bounded-map.ts'
export {
  factorJwkMembers,
  privateJwkMembers,
  publicJwkMembers,
  secretJwkMembers,
} from './memory/jwk-members.ts'
export { KeyedLimiter } from './memory/keyed-limiter.ts'
export { Secret } from './memory/secret.ts'
export { isName } from './names.ts'
export {
  findExposedFiles,
  inHome,
  openHome,
  requireUsableHome,
  restoreFolder,
  writeOnce,
} from './process/home.ts'
export {
  type ClaimedPort,
  canSharePort,
  claimPort,
  closeServer,
  formatBaseUrl,
  type ListenOptions,
  listenOn,
} from './process/ports.ts'
export { isLockHeld, takeLock } from './process/process-lock.ts'
export { lowerThreadPriority } from './process/thread-priority.ts'
export { Pulse, watchBeats } from './process/watchdog.ts'
export { andThen, type MaybePromise } from './promises/and-then.ts'
export type { Collected, Logger, Metrics } from './telemetry/counters.ts'
export { type Counters, runtimeCounters, startCounters } from './telemetry/counters.ts'
export { memoizeFor } from './telemetry/memoize-for.ts'
export { Output, standardSink } from './telemetry/output.ts'
export { version } from './version.ts'
