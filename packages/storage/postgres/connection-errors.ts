/** The host answers but cannot serve: a standby, a former primary, or another database system. */
export class HostUnsuitable extends Error {}

/** None of several hosts can serve. */
export class NoHost extends Error {}

const networkErrors: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOENT', // the socket file of a server on this machine
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Whether a connection failed for a reason that may pass: the network, or a server that is starting, stopping or full. */
export function isTransientError(error: unknown): boolean {
  if (error instanceof HostUnsuitable || error instanceof NoHost) return true
  const { code, message = '' } = (error ?? {}) as { code?: string; message?: string }
  if (code === undefined) return /timeout|terminated/i.test(message)
  return networkErrors.has(code) || /^(08|53|57|58)/.test(code)
}

/** The message of an error; for an AggregateError, which has none, that of its first error. */
export function getErrorMessage(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return getErrorMessage(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
