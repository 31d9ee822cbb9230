export { andThen, type MaybePromise } from './and-then.ts'
export { BoundedMap, memoizeFor } from './caches.ts'
export { type Clock, systemClock, unixSeconds } from './clock.ts'
export {
  type Collected,
  type Counters,
  type Logger,
  type Metrics,
  runtimeCounters,
  startCounters,
} from './counters.ts'
export {
  CodedError,
  describeFullDisk,
  describeWriteError,
  type ErrorKind,
  type ErrorKindRow,
  errorKinds,
  Failure,
  failure,
  StartupError,
  suggest,
  toFailure,
} from './errors.ts'
export { escapeHidden, escapeUnits, unescapeHidden } from './hidden-characters.ts'
export { parseJsonBody, parseStrictObject } from './json.ts'
export { KeyedLimiter } from './keyed-limiter.ts'
export { isName } from './names.ts'
export { Output, standardSink } from './output.ts'
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
  toBrowserUrl,
} from './process/ports.ts'
export { readPasswordFile, readPrivateFile } from './process/private-file.ts'
export { isLockHeld, takeLock } from './process/process-lock.ts'
export { lowerThreadPriority } from './process/thread-priority.ts'
export { Pulse, watchBeats } from './process/watchdog.ts'
export { factorJwkMembers, privateJwkMembers, publicJwkMembers, Secret, secretJwkMembers } from './secret.ts'
export { version } from './version.ts'
