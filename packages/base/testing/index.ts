export { quietLog, strictLog } from './quiet-log.ts'
