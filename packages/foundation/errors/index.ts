export { diskFull, writeProblem } from './disk-full.ts'
export { Failure, type FailureOptions, failure, StartupError, toFailure } from './failure.ts'
export { type ErrorKind, type ErrorKindRow, errorKinds } from './kinds.ts'
export { suggestion } from './nearest.ts'
