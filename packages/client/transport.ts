import { Agent, request } from 'node:https'
import { ClientError } from './error.ts'

/** One HTTP answer, read whole. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Buffer
}

export interface Transport {
  /** @throws ClientError `unreachable`, `timeout` or `unexpected_reply` */
  send(
    method: string,
    target: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer | undefined,
  ): Promise<Answer>
  close(): void
}

export interface TransportOptions {
  /** e.g. `https://127.0.0.1:9998`; a path before the service's own is kept. */
  readonly baseUrl: string
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string | undefined
  /** PEM of a client certificate and its private key. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
  /** For the whole exchange, from the connection to the last byte of the answer. */
  readonly timeoutMs: number
  readonly maxConnections: number
  readonly maxAnswerBytes: number
}

/** HTTPS with kept connections. Follows no redirects: credentials go to the named service and nowhere else. */
export function httpsTransport(options: TransportOptions): Transport {
  const base = baseOf(options.baseUrl)
  const agent = new Agent({
    keepAlive: true,
    maxSockets: options.maxConnections,
    minVersion: 'TLSv1.2',
    ...(options.ca !== undefined && { ca: options.ca }),
    ...(options.certificate !== undefined && options.certificate),
  })
  return {
    send: (method, target, headers, body) =>
      new Promise((resolve, reject) => {
        const fail = (
          kind: 'timeout' | 'unreachable' | 'unexpected_reply',
          why: string,
          cause?: unknown,
        ): void => reject(new ClientError({ kind, description: `${base.origin} ${why}`, cause }))
        // node's own `timeout` counts idle time only: a peer that drips bytes would hold the caller for ever.
        const timer = setTimeout(() => {
          fail('timeout', `did not answer within ${options.timeoutMs} ms`)
          outgoing.destroy()
        }, options.timeoutMs)
        const url = `${base.origin}${base.prefix}${target}`
        const outgoing = request(
          url,
          {
            agent,
            method,
            headers: { ...headers, ...(body !== undefined && { 'content-length': String(body.length) }) },
          },
          (incoming) => {
            const parts: Buffer[] = []
            let size = 0
            incoming.on('data', (part: Buffer) => {
              size += part.length
              if (size <= options.maxAnswerBytes) {
                parts.push(part)
              } else {
                fail('unexpected_reply', `sent more than ${options.maxAnswerBytes} bytes`)
                incoming.destroy()
              }
            })
            incoming.on('error', (cause) => fail('unreachable', 'broke off its answer', cause))
            incoming.on('close', () => clearTimeout(timer))
            incoming.on('end', () => {
              clearTimeout(timer)
              resolve({
                status: incoming.statusCode ?? 0,
                headers: incoming.headers,
                body: Buffer.concat(parts),
              })
            })
          },
        )
        outgoing.on('error', (cause) => {
          clearTimeout(timer)
          fail('unreachable', `cannot be reached: ${cause.message}`, cause)
        })
        outgoing.end(body)
      }),
    close: () => agent.destroy(),
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
