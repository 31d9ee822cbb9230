import { type Logger, Output, standardSink } from '@warder/base'
import { pino } from 'pino'
import { redact } from './redact.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LoggerOptions {
  readonly level: LogLevel
  readonly service: string
  /** Called for each line that is lost, because the reader is too slow or a disk is full. */
  readonly onLost?: () => void
  /** Writes a line; default: to standard error. */
  readonly write?: (line: string) => void
}

/** One JSON object a line. Safe in worker threads: lines are written whole, at once. */
export function createLogger(options: LoggerOptions): Logger {
  const write = options.write ?? standardError(options)
  const base = pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  )
  return wrap(base)
}

function standardError({ service, onLost }: LoggerOptions): (line: string) => void {
  const formatLostLine = (lines: number): string => {
    const told = { level: 'warn', time: new Date().toISOString(), service, lines }
    return `${JSON.stringify({ ...told, msg: 'lines of the log were dropped: they were not read in time' })}\n`
  }
  const output = new Output(standardSink(2), { formatLostLine, ...(onLost !== undefined && { onLost }) })
  return (line) => output.write(line)
}

function wrap(inner: pino.Logger): Logger {
  const at = (level: LogLevel) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    if (inner.isLevelEnabled(level)) inner[level](redact(fields) as object, message)
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(inner.child(redact(fields) as pino.Bindings)),
  }
}
