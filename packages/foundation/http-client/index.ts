export {
  type ActiveTrace,
  activeTrace,
  readWhole,
  type SpanAttributes,
  type SpanHead,
  send,
  TooLarge,
  type TracedCall,
  type TracedWork,
} from './http-client.ts'
