export { createLogger, type LoggerOptions, type LogLevel } from './logger.ts'
export { createMetrics, mergeMetrics, type ThreadMetrics } from './metrics.ts'
export { type OtlpOptions, startOtlpExport } from './otlp.ts'
export type * from './types.ts'
