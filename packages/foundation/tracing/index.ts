export { startTraceExport, type TraceExport, type TraceExportOptions } from './otlp-traces.ts'
export { createTracer, type RequestTrace, type Tracer, type TracerOptions } from './tracer.ts'
