export { describeFullDisk, describeWriteError } from './disk-full.ts'
export { Failure, type FailureOptions, failure, StartupError, toFailure } from './failure.ts'
export { type ErrorKind, type ErrorKindRow, errorKinds } from './kinds.ts'
export { suggest } from './nearest.ts'
