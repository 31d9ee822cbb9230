export { andThen, type MaybePromise } from './and-then.ts'
