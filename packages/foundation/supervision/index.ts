// Used by processes that start services and serve nothing themselves: it stays small (`scripts/warder-folders.test.ts`).
export { isLockHeld, takeLock } from '../locks/process-lock.ts'
export { type ClaimedPort, claimPort, formatBaseUrl } from '../runtime/ports.ts'
export { watchBeats } from '../runtime/watchdog.ts'
export { Output, standardSink } from '../telemetry/output.ts'
