export { type Attempts, createAttempts } from './attempts.ts'
export { createFailureCounter, type FailureCounter, removeOldFailures } from './failures.ts'
export { createLoginBuckets, shareLoginBuckets } from './login-buckets.ts'
export { ensureThrottleKey, openThrottleKey } from './throttle-key-store.ts'
