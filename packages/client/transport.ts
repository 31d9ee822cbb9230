import { createPrivateKey, X509Certificate } from 'node:crypto'
import { Agent } from 'node:https'
import { createSecureContext } from 'node:tls'
import { readWhole, send, TooLarge } from '@warder/foundation/http-client'
import { ClientError } from './error.ts'
import { turns } from './turns.ts'

/** One HTTP answer, read whole. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Buffer
}

export interface Transport {
  /** @throws ClientError `unreachable`, `timeout`, `unexpected_reply` or `closed` */
  send(
    method: string,
    target: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer | undefined,
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

/**
 * HTTPS with kept connections. Follows no redirects: credentials go to the named service and nowhere else.
 * @throws TypeError for an address, an authority or a certificate that cannot be used
 */
export function httpsTransport(options: TransportOptions): Transport {
  const base = baseOf(options.baseUrl)
  requireCredentials(options)
  const agent = new Agent({
    keepAlive: true,
    maxSockets: options.maxConnections,
    minVersion: 'TLSv1.2',
    ...(options.ca !== undefined && { ca: options.ca, allowPartialTrustChain: true }),
    ...(options.serverName !== undefined && { servername: options.serverName }),
    ...(options.certificate !== undefined && options.certificate),
  })
  // The agent has a queue, too; but it opens connections for those that wait there even after its end.
  const queue = turns(options.maxConnections)
  const underWay = new Set<AbortController>()
  const failure = (kind: FailureKind, why: string, cause?: unknown): ClientError =>
    new ClientError({ kind, description: `${base.origin} ${why}`, cause })
  const closed = (): ClientError => failure('closed', 'was not waited for: the client was closed')

  const exchange: Transport['send'] = async (method, target, headers, body) => {
    const url = new URL(`${base.origin}${base.prefix}${target}`)
    const ending = new AbortController()
    underWay.add(ending)
    // node's own `timeout` counts idle time only: a peer that drips bytes would hold the caller for ever.
    const timer = setTimeout(
      () => ending.abort(failure('timeout', `did not answer within ${options.timeoutMs} ms`)),
      options.timeoutMs,
    )
    let begun = false
    try {
      const incoming = await send(url, { agent, method, headers, signal: ending.signal }, body)
      begun = true
      const read = await readWhole(incoming, options.maxAnswerBytes)
      return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: read }
    } catch (error) {
      if (ending.signal.aborted) throw ending.signal.reason
      if (error instanceof TooLarge) throw failure('unexpected_reply', error.message)
      if (begun) throw failure('unreachable', 'broke off its answer', error)
      throw failure(
        'unreachable',
        `cannot be reached: ${error instanceof Error ? error.message : error}`,
        error,
      )
    } finally {
      clearTimeout(timer)
      underWay.delete(ending)
    }
  }

  return {
    async send(method, target, headers, body) {
      const done = await queue.take()
      try {
        return await exchange(method, target, headers, body)
      } finally {
        done()
      }
    },
    close() {
      queue.refuse(closed())
      for (const ending of underWay) ending.abort(closed())
      agent.destroy()
    },
  }
}

type FailureKind = 'timeout' | 'unreachable' | 'unexpected_reply' | 'closed'

/** Read here as they will be read for each connection: there, a broken one would fail call after call. */
function requireCredentials({ ca, certificate }: TransportOptions): void {
  try {
    // OpenSSL takes a text without a certificate for no authority at all, and then trusts nobody.
    if (ca !== undefined) new X509Certificate(ca)
  } catch (cause) {
    throw new TypeError('the authority to trust is no certificate in PEM', { cause })
  }
  if (certificate === undefined) return
  try {
    // OpenSSL takes empty texts for none at all, and keeps a key of another kind beside the certificate.
    const leaf = new X509Certificate(certificate.cert)
    if (!leaf.checkPrivateKey(createPrivateKey(certificate.key))) throw new Error('the key is another one’s')
    createSecureContext(certificate)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`the client certificate and its key (PEM) cannot be used: ${why}`, { cause })
  }
}

function baseOf(text: string): { readonly origin: string; readonly prefix: string } {
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
