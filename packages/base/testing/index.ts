export { quietLog, strictLog } from '../telemetry/testing/quiet-log.ts'
