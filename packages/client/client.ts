import { setTimeout as sleep } from 'node:timers/promises'
import { type Operations, routes } from './api.gen.ts'
import { ClientError } from './error.ts'
import { withRetries } from './retry.ts'
import { type Answer, httpsTransport } from './transport.ts'

export type OperationName = keyof Operations
export type Input<Name extends OperationName> = Omit<Operations[Name], 'reply'>
export type Reply<Name extends OperationName> = Operations[Name]['reply']
/** No argument where nothing has to be given. */
type Given<Name extends OperationName> =
  Record<never, never> extends Input<Name> ? [input?: Input<Name>] : [input: Input<Name>]

/** How the caller proves who they are. A client certificate may come with either token. */
export interface Credentials {
  /** A JWT: of the authentication service, or of a trusted issuer; or an API token. */
  readonly bearer?: string | undefined
  /** A machine token, sent as `X-Secret-Token`. */
  readonly secretToken?: string | undefined
  /** PEM of a certificate and of its private key. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

export interface ClientOptions {
  /** e.g. `https://127.0.0.1:9998` */
  readonly url: string
  /** PEM of the certificates to trust; default: the system's authorities. */
  readonly ca?: string | undefined
  /** The name that the service's certificate has to have, where it is not the one of `url`. */
  readonly serverName?: string | undefined
  readonly credentials?: Credentials
  /** For one try, from its connection on, default 30 s. */
  readonly timeoutMs?: number
  /** Connections at a time, default 8; further calls wait for one. */
  readonly maxConnections?: number
  /** Default 128 MiB. */
  readonly maxAnswerBytes?: number
  /** Tries after the first, of operations that change nothing by being repeated; default 3. */
  readonly retries?: number
  /** Longest `Retry-After` that is waited for, default 10 s. */
  readonly maxWaitSeconds?: number
  /** For tests: waits this many seconds. */
  readonly wait?: (seconds: number) => Promise<void>
}

/** The key management service, by the operations of its OpenAPI document. */
export interface KmsClient {
  /**
   * Calls one operation: `await kms.call('crypto.sign', { body: { kid, alg: 'ES256', data } })`.
   * @throws ClientError when it does not succeed
   */
  call<Name extends OperationName>(name: Name, ...given: Given<Name>): Promise<Reply<Name>>
  /**
   * As `call`, with what `after` of the next page has to be (`X-Next-After`): a page that is not full, or empty, need
   * not be the last. undefined: nothing follows, or the operation does not tell.
   * @throws ClientError when it does not succeed
   */
  page<Name extends OperationName>(
    name: Name,
    ...given: Given<Name>
  ): Promise<{ readonly rows: Reply<Name>; readonly next: string | undefined }>
  /** Closes the connections: calls under way, and those that wait, end with `closed`; a later call opens new ones. */
  close(): void
}

/** POSTs that leave nothing behind: sent again they give the same answer. */
const repeatable: ReadonlySet<string> = new Set(['crypto.decrypt', 'crypto.verify', 'crypto.mac'])
const defaults = { timeoutMs: 30_000, maxConnections: 8, maxAnswerBytes: 128 * 1024 * 1024 }

/**
 * @throws TypeError when the address is not https, a token cannot be sent in a header, the authority is no certificate,
 * or the client certificate and its key are no pair
 */
export function kmsClient(options: ClientOptions): KmsClient {
  const { credentials = {} } = options
  const transport = httpsTransport({
    baseUrl: options.url,
    ca: options.ca,
    serverName: options.serverName,
    certificate: credentials.certificate,
    timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
    maxConnections: options.maxConnections ?? defaults.maxConnections,
    maxAnswerBytes: options.maxAnswerBytes ?? defaults.maxAnswerBytes,
  })
  const policy = {
    retries: options.retries ?? 3,
    maxWaitSeconds: options.maxWaitSeconds ?? 10,
    wait: options.wait ?? ((seconds: number) => sleep(seconds * 1000)),
  }
  const identity = credentialHeaders(credentials)
  let closings = 0
  const send = (name: OperationName, input: AnyInput): Promise<Replied> => {
    const { method, path } = routes[name]
    const target = `${fillPath(path, input.path ?? {})}${queryOf(input.query ?? {})}`
    const body = input.body === undefined ? undefined : Buffer.from(JSON.stringify(input.body))
    const headers = {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...identity,
    }
    const begun = closings
    const once = async (): Promise<Replied> => {
      // A call that waits to try again is one of those that `close` ends.
      if (begun !== closings) throw new ClientError({ kind: 'closed', description: 'the client was closed' })
      const answer = await transport.send(method, target, headers, body)
      return { reply: readReply(answer), headers: answer.headers }
    }
    return method !== 'POST' || repeatable.has(name) ? withRetries(policy, once) : once()
  }
  return {
    async call(name, ...given) {
      const { reply } = await send(name, (given[0] ?? {}) as AnyInput)
      return reply as Reply<typeof name>
    },
    async page(name, ...given) {
      const { reply, headers } = await send(name, (given[0] ?? {}) as AnyInput)
      const next = textOf(headers['x-next-after'])
      return {
        rows: reply as Reply<typeof name>,
        next: next === undefined ? undefined : decodeURIComponent(next),
      }
    },
    close() {
      closings += 1
      transport.close()
    },
  }
}

interface Replied {
  readonly reply: unknown
  readonly headers: Answer['headers']
}

interface AnyInput {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

function credentialHeaders({ bearer, secretToken }: Credentials): Readonly<Record<string, string>> {
  for (const token of [bearer, secretToken]) {
    // Said here, without the token in the sentence; the runtime's own error would name the header only.
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
      throw new TypeError('the token holds characters that no token has')
  }
  return {
    ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    ...(secretToken !== undefined && { 'x-secret-token': secretToken }),
  }
}

function fillPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name]
    // `.` and `..` would be taken for steps of the path, an empty one names another resource.
    if (value === undefined || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} cannot be part of a path`)
    return encodeURIComponent(value)
  })
}

function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  return query.size === 0 ? '' : `?${query}`
}

function readReply({ status, headers, body }: Answer): unknown {
  const json = parsed(body)
  const requestId = textOf(headers['x-request-id'])
  if (status === 204) return undefined
  if (status >= 200 && status < 300) {
    if (json !== undefined) return json
    throw new ClientError({
      kind: 'unexpected_reply',
      description: 'the answer is not JSON: is this the key management service?',
      status,
      requestId,
    })
  }
  const said = errorOf(json)
  throw new ClientError({
    kind: said?.error ?? 'unexpected_reply',
    description: said?.description ?? `the answer has status ${status} and says nothing else`,
    status,
    requestId,
    retryAfter: secondsOf(textOf(headers['retry-after'])),
  })
}

function errorOf(json: unknown): { readonly error: string; readonly description: string } | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { error, description } = json as { error?: unknown; description?: unknown }
  return typeof error === 'string' && typeof description === 'string' ? { error, description } : undefined
}

/** RFC 9110 §10.2.3; the form with a date is not used by the service. */
function secondsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
