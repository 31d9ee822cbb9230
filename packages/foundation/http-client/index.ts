export { type ActiveTrace, activeTrace, type TracedCall } from './active-trace.ts'
export { readWhole, TooLarge } from './read-whole.ts'
export { send } from './send.ts'
