export { createLogger, type LoggerOptions, type LogLevel } from './logger.ts'
export { createMetrics, mergeMetrics, type ThreadMetrics } from './metrics.ts'
export { type OtlpOptions, otlpMetrics, startOtlpExport } from './otlp.ts'
export type * from './types.ts'
