import { ClientError } from './error.ts'

/** One HTTP answer, read whole. */
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
  /** Ends what is under way, and what waits for a connection, with `closed`; a later `send` opens a new one. */
  close(): void
}

export interface TransportOptions {
  /** e.g. `https://127.0.0.1:9998`; a path before the service's own is kept. */
  readonly baseUrl: string
  /** PEM of the certificates to trust instead of the system's authorities; each may be any anchor (RFC 5280 §6.1). */
  readonly ca?: string | undefined
  /** The name that the server's certificate has to have, where it is not the one of `baseUrl`. */
  readonly serverName?: string | undefined
  /** PEM of a client certificate and its private key. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
  /** For the whole exchange, from the connection to the last byte of the answer; waiting for a free one comes before. */
  readonly timeoutMs: number
  readonly maxConnections: number
  readonly maxAnswerBytes: number
}

/** Opens connections to one service. */
export interface Network {
  /** @throws TypeError for options that cannot be used */
  readonly transport: (options: TransportOptions, sendCookies: boolean) => Transport
  /** Sends and keeps cookies by itself, and lets no program do it: a browser. */
  readonly keepsCookies: boolean
}

type FailureKind = 'timeout' | 'unreachable' | 'unexpected_reply' | 'closed'

/** Errors of one service's transport. */
export function createFailures(origin: string) {
  const failure = (kind: FailureKind, why: string, cause?: unknown): ClientError =>
    new ClientError({ kind, description: `${origin} ${why}`, cause })
  return {
    failure,
    closed: (): ClientError => failure('closed', 'was not waited for: the client was closed'),
    late: (ms: number): ClientError => failure('timeout', `did not answer within ${ms} ms`),
  }
}

/** @throws TypeError for an address that is not https, or is more than a place */
export function parseBase(text: string): { readonly origin: string; readonly prefix: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plain =
    url?.protocol === 'https:' &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === ''
  if (url === undefined || !plain) {
    throw new TypeError('the address of the service is not of the form https://host:port')
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}
