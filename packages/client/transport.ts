import { ClientError } from './error.ts'

/** A complete HTTP answer. */
export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
}

export interface Transport {
  /** @throws ClientError `unreachable`, `timeout`, `unexpected_reply` or `closed` */
  send(
    method: string,
    target: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array | undefined,
  ): Promise<Answer>
  /** Aborts running and waiting calls with `closed`; a later `send` opens a new connection. */
  close(): void
}

export interface TransportOptions {
  /** e.g. `https://127.0.0.1:9998`; a path is kept as the prefix. */
  readonly baseUrl: string
  /**
   * PEM of certificates that are trusted instead of the system's authorities; each may be any trust anchor (RFC 5280
   * §6.1).
   */
  readonly ca?: string | undefined
  /** Expected name in the server's certificate, if it differs from `baseUrl`. */
  readonly serverName?: string | undefined
  /** PEM of a client certificate and its private key. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
  /**
   * Timeout of the whole exchange, from the connection to the last byte of the answer, without the wait for a free
   * connection.
   */
  readonly timeoutMs: number
  readonly maxConnections: number
  readonly maxAnswerBytes: number
}

/** Opens connections to one service. */
export interface Network {
  /** @throws TypeError for options that cannot be used */
  readonly transport: (options: TransportOptions, sendCookies: boolean) => Transport
  /** true for a browser, which sends and stores cookies by itself. */
  readonly keepsCookies: boolean
}

type FailureKind = 'timeout' | 'unreachable' | 'unexpected_reply' | 'closed'

/** Errors of one service's transport. */
export function createFailures(origin: string) {
  const failure = (kind: FailureKind, why: string, cause?: unknown): ClientError =>
    new ClientError({ kind, description: `${origin} ${why}`, cause })
  return {
    failure,
    closed: (): ClientError => failure('closed', 'was not completed before the client was closed'),
    late: (ms: number): ClientError => failure('timeout', `did not respond within ${ms} ms`),
  }
}

/** @throws TypeError for an address that is not https, or has more than origin and path */
export function parseBase(text: string): { readonly origin: string; readonly prefix: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plain =
    url?.protocol === 'https:' &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === ''
  if (url === undefined || !plain) {
    throw new TypeError('the address of the service must have the form https://host:port')
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}
