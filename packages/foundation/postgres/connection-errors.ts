/** A host that answers and does not do: a standby, a former primary, another database system. */
export class HostUnsuitable extends Error {}

/** None of several hosts does. */
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

/** Of an error of several addresses, which has no message of its own, the first one's. */
export function getErrorMessage(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return getErrorMessage(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
