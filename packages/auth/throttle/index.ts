export { type Attempts, createAttempts } from './attempts.ts'
export { createFailureCounter, type FailureCounter, removeOldFailures } from './failures.ts'
