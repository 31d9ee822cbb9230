export {
  type ActiveTrace,
  activeTrace,
  type SpanAttributes,
  type SpanHead,
  type TracedCall,
  type TracedWork,
} from './active-trace.ts'
export { readWhole, TooLarge } from './read-whole.ts'
export { send } from './send.ts'
