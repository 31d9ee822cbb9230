export { type HostileRequest, requestsWithText } from './text-walk.ts'
