import { ClientError } from './error.ts'
import type { Answer, Network } from './transport.ts'

interface RetryPolicy {
  /** Maximum number of retries; 0 = none. */
  readonly retries: number
  /** Maximum `Retry-After` to wait for; a longer one is an error. */
  readonly maxWaitSeconds: number
  readonly wait: (seconds: number) => Promise<void>
}

const withoutAdvice = 1

/**
 * Retries calls that the service refused as busy (429, 503), after its `Retry-After`. Nothing else is retried: after
 * a broken connection it is unknown whether the request was executed.
 */
async function withRetries<R>(policy: RetryPolicy, call: () => Promise<R>): Promise<R> {
  for (let left = policy.retries; ; left -= 1) {
    try {
      return await call()
    } catch (error) {
      const busy = error instanceof ClientError && (error.status === 429 || error.status === 503)
      if (!busy || left <= 0) throw error
      const seconds = error.retryAfter ?? withoutAdvice
      if (seconds > policy.maxWaitSeconds) throw error
      await policy.wait(seconds)
    }
  }
}

/** Operations by name: input (`path`, `query`, `body`) and output (`reply`). */
type Table<O> = { readonly [Name in keyof O]: { readonly reply: unknown } }
export type InputOf<O extends Table<O>, Name extends keyof O> = Omit<O[Name], 'reply' | 'paged'>
/** Operations whose replies are pages. */
export type PagedName<O extends Table<O>> = {
  readonly [Name in keyof O]: O[Name] extends { readonly paged: true } ? Name : never
}[keyof O]
export type ReplyOf<O extends Table<O>, Name extends keyof O> = O[Name]['reply']
/** No argument if the operation has no required input. */
export type Given<O extends Table<O>, Name extends keyof O> =
  Record<never, never> extends InputOf<O, Name> ? [input?: InputOf<O, Name>] : [input: InputOf<O, Name>]

/** Address of a service, and timeouts and limits of its client. */
export interface ClientOptions {
  /** e.g. `https://127.0.0.1:9998` */
  readonly url: string
  /** PEM of trusted certificates; default: the system's authorities. Not in a browser, which manages its own. */
  readonly ca?: string | undefined
  /** Expected name in the certificate of the service, if it differs from `url`. Not in a browser. */
  readonly serverName?: string | undefined
  /** Timeout of one try in ms, without the wait for a connection; default 30 s. */
  readonly timeoutMs?: number
  /** Maximum number of connections, default 8; further calls wait. */
  readonly maxConnections?: number
  /** Default 128 MiB. */
  readonly maxAnswerBytes?: number
  /** Maximum number of retries of idempotent operations; default 3. */
  readonly retries?: number
  /** Maximum `Retry-After` to wait for, default 10 s. */
  readonly maxWaitSeconds?: number
  /** For tests: waits this number of seconds. */
  readonly wait?: (seconds: number) => Promise<void>
}

/** Client of a service with the operations of its OpenAPI document. */
export interface ServiceClient<O extends Table<O>> {
  /**
   * Calls one operation: `await kms.call('crypto.sign', { body: { kid, alg: 'ES256', data } })`.
   * @throws ClientError when it does not succeed
   */
  call<Name extends keyof O & string>(name: Name, ...given: Given<O, Name>): Promise<ReplyOf<O, Name>>
  /**
   * Like `call` for an operation with pages; also returns the `after` of the next page (for `crypto.keys.versions`:
   * `before`), or undefined at the end. A page that is not full or empty may have a successor.
   * @throws ClientError when it does not succeed
   */
  page<Name extends PagedName<O> & string>(
    name: Name,
    ...given: Given<O, Name>
  ): Promise<{ readonly rows: ReplyOf<O, Name>; readonly next: string | undefined }>
  /** Closes the connections. Running and waiting calls fail with `closed`; later calls open new connections. */
  close(): void
}

/** Further parts for one kind of service. */
export interface ServiceParts {
  readonly routes: Readonly<Record<string, { readonly method: string; readonly path: string }>>
  /** Idempotent POSTs: a repetition returns the same answer and changes nothing. */
  readonly repeatable: ReadonlySet<string>
  /** Headers with the credentials of the caller. */
  readonly identity: Readonly<Record<string, string>>
  readonly certificate: { readonly cert: string; readonly key: string } | undefined
  /** In a browser: whether it sends its cookies. */
  readonly sendCookies: boolean
}

/** A successful answer with its headers. */
export interface Replied {
  readonly reply: unknown
  readonly headers: Answer['headers']
}

/** Input that any operation may have. */
export interface AnyInput {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

/** The client, and a call function that also returns the headers of the answer. */
interface AnyClient<O extends Table<O>> {
  readonly client: ServiceClient<O>
  /** @param headers replace those with the credentials of the caller */
  send(name: string, input: AnyInput, headers?: Readonly<Record<string, string>>): Promise<Replied>
}

const defaults = { timeoutMs: 30_000, maxConnections: 8, maxAnswerBytes: 128 * 1024 * 1024 }

/** @throws TypeError for options that cannot be used */
export function serviceClient<O extends Table<O>>(
  network: Network,
  options: ClientOptions,
  parts: ServiceParts,
): AnyClient<O> {
  const transport = network.transport(
    {
      baseUrl: options.url,
      ca: options.ca,
      serverName: options.serverName,
      certificate: parts.certificate,
      timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
      maxConnections: options.maxConnections ?? defaults.maxConnections,
      maxAnswerBytes: options.maxAnswerBytes ?? defaults.maxAnswerBytes,
    },
    parts.sendCookies,
  )
  const policy = {
    retries: options.retries ?? 3,
    maxWaitSeconds: options.maxWaitSeconds ?? 10,
    wait:
      options.wait ??
      ((seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * 1000))),
  }
  let closings = 0
  const send = (name: string, input: AnyInput, identity = parts.identity): Promise<Replied> => {
    const route = parts.routes[name]
    if (route === undefined) throw new TypeError(`there is no operation ${name}`)
    const { method, path } = route
    const target = `${fillPath(path, input.path ?? {})}${formatQuery(input.query ?? {})}`
    const body = input.body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(input.body))
    const headers = {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...identity,
    }
    const begun = closings
    const once = async (): Promise<Replied> => {
      // `close` also ends calls that wait for a retry.
      if (begun !== closings) throw new ClientError({ kind: 'closed', description: 'the client was closed' })
      const answer = await transport.send(method, target, headers, body)
      return { reply: readReply(answer), headers: answer.headers }
    }
    return method !== 'POST' || parts.repeatable.has(name) ? withRetries(policy, once) : once()
  }
  const client: ServiceClient<O> = {
    async call(name, ...given) {
      const { reply } = await send(name, (given[0] ?? {}) as AnyInput)
      return reply as ReplyOf<O, typeof name>
    },
    async page(name, ...given) {
      const { reply, headers } = await send(name, (given[0] ?? {}) as AnyInput)
      const next = readFirstValue(headers['x-next-after'])
      return {
        rows: reply as ReplyOf<O, typeof name>,
        next: next === undefined ? undefined : decodeURIComponent(next),
      }
    },
    close() {
      closings += 1
      transport.close()
    },
  }
  return { client, send }
}

/** Validates a token for use in a header. @throws TypeError, whose message does not contain the token */
export function headerToken(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new TypeError('the token contains invalid characters')
  return token
}

/** Headers of a token for either service. */
export function tokenHeaders(tokens: {
  readonly bearer?: string | undefined
  readonly secretToken?: string | undefined
}): Readonly<Record<string, string>> {
  const { bearer, secretToken } = tokens
  return {
    ...(bearer !== undefined && { authorization: `Bearer ${headerToken(bearer)}` }),
    ...(secretToken !== undefined && { 'x-secret-token': headerToken(secretToken) }),
  }
}

/** Fills parameters into a path. @throws TypeError for a value that would change the path */
function fillPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name]
    // `.` and `..` would be resolved as path segments; an empty value names another resource.
    if (value === undefined || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} cannot be used in a path`)
    return encodeURIComponent(value)
  })
}

/** Formats a query: `?a=b`, or the empty text. */
function formatQuery(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  return query.size === 0 ? '' : `?${query}`
}

/** Returns the JSON of a successful answer. @throws ClientError for every other answer */
function readReply({ status, headers, body }: Answer): unknown {
  const json = parseJson(body)
  const requestId = readFirstValue(headers['x-request-id'])
  if (status === 204) return undefined
  if (status >= 200 && status < 300) {
    if (json !== undefined) return json
    throw new ClientError({
      kind: 'unexpected_reply',
      description: 'the response is not JSON; check the address of the service',
      status,
      requestId,
    })
  }
  const said = readError(json)
  throw new ClientError({
    kind: said?.error ?? 'unexpected_reply',
    description: said?.description ?? `the response has status ${status} and no error description`,
    status,
    requestId,
    retryAfter: readSeconds(readFirstValue(headers['retry-after'])),
    approval: said?.approval,
  })
}

function readError(json: unknown): ErrorMembers | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { error, description, approval } = json as Readonly<Record<keyof ErrorMembers, unknown>>
  if (typeof error !== 'string' || typeof description !== 'string') return undefined
  return { error, description, approval: typeof approval === 'string' ? approval : undefined }
}

interface ErrorMembers {
  readonly error: string
  readonly description: string
  readonly approval: string | undefined
}

/** RFC 9110 §10.2.3; the services do not use the date form. */
function readSeconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** The first value of a header. */
function readFirstValue(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return undefined
  }
}
