import { pino } from 'pino'
import { redact } from './redact.ts'
import type { Logger } from './types.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LoggerOptions {
  readonly level: LogLevel
  readonly service: string
  /** Writes a line; default: to standard error. */
  readonly write?: (line: string) => void
}

/** One JSON object a line. Safe in worker threads: lines are written whole, at once. */
export function createLogger(options: LoggerOptions): Logger {
  const write = options.write ?? ((line: string) => void process.stderr.write(line))
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
