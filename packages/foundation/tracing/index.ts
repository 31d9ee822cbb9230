export { startTraceExport } from './otlp-traces.ts'
export { startTracing } from './start-tracing.ts'
export { traceDatabase } from './traced-database.ts'
export { createTracer, type RequestTrace, type Tracer } from './tracer.ts'
