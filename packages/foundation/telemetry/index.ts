export { createLogger, type LoggerOptions, type LogLevel } from './logger.ts'
export { createMetrics, mergeMetrics, type ThreadMetrics } from './metrics.ts'
export { attributes, type OtlpOptions, type OtlpSource, resourceOf, startOtlpExport } from './otlp.ts'
export type * from './types.ts'
