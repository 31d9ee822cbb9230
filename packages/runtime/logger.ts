import { type Logger, Output, privateJwkMembers, Secret, standardSink } from '@warder/base'
import { pino } from 'pino'

const hidden = '[secret]'
const maxDepth = 8
const maxTextLength = 8_192
const maxMembers = 200

/** Members that contain secrets at any position, in lower case without separators. */
const secretNames = new Set([
  'password',
  'passphrase',
  'plaintext',
  'passwordinput',
  'passwordhash',
  'newpassword',
  'secret',
  'secretid',
  'clientsecret',
  'totpsecret',
  'totpcode',
  'token',
  'clienttoken',
  'jwt',
  'authorization',
  'cookie',
  'setcookie',
  'cookiestring',
  'xsecrettoken',
  'xvaulttoken',
  'privatekey',
  'keymaterial',
  'samlresponse',
])

/** Hidden in an object that has `kty`. */
const jwkPrivate = new Set(privateJwkMembers)

/** A copy of log fields that shows nothing secret: by type (`Secret`, bytes) and by name of the member. Bounded. */
export function redact(value: unknown, depth = 0): unknown {
  if (value === null || typeof value === 'number' || typeof value === 'boolean' || value === undefined)
    return value
  if (typeof value === 'string')
    return value.length > maxTextLength ? `${value.slice(0, maxTextLength)}...` : value
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object') return `[${typeof value}]`
  if (value instanceof Secret) return hidden
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Date) return value.toISOString()
  if (depth >= maxDepth) return '[deep]'
  if (value instanceof Error) return redactError(value, depth)
  if (Array.isArray(value)) return value.slice(0, maxMembers).map((item) => redact(item, depth + 1))
  const isJwk = 'kty' in value
  const shown: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value).slice(0, maxMembers)) {
    const plain = name.toLowerCase().replaceAll(/[-_]/g, '')
    const secret = secretNames.has(plain) || (isJwk && jwkPrivate.has(name))
    shown[name] = secret && member !== undefined && member !== null ? hidden : redact(member, depth + 1)
  }
  return shown
}

/** Name, message, code, stack and cause; not other members of an error. */
function redactError(error: Error, depth: number): Record<string, unknown> {
  const { code, detail } = error as Error & { code?: unknown; detail?: unknown }
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
  }
}

type LogLevel = 'debug' | 'info' | 'warn' | 'error'

interface LoggerOptions {
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
