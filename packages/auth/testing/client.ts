import type { IncomingHttpHeaders } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of whatever was answered
  readonly json: any
}

export interface Call {
  readonly json?: unknown
  /** Raw body, instead of `json`. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Value of the session cookie. */
  readonly cookie?: string | undefined
  /** `username:password` */
  readonly basic?: string
  readonly bearer?: string
  readonly token?: string
}

export interface Client {
  call(method: string, path: string, call?: Call): Promise<Answer>
  close(): void
}

/** Identifies a client: its certificate and key, and its address. */
export interface ClientIdentity {
  readonly cert?: string
  readonly key?: string
  readonly localAddress?: string
}

/** A client of one server over HTTPS. */
export function client(port: number, ca: string, identity: ClientIdentity = {}): Client {
  const agent = new Agent({ keepAlive: true, ca, servername: 'localhost', ...identity })
  return {
    call: (method, path, call = {}) => send(agent, port, method, path, call),
    close: () => agent.destroy(),
  }
}

function send(agent: Agent, port: number, method: string, path: string, call: Call): Promise<Answer> {
  const body = call.json === undefined ? call.body : JSON.stringify(call.json)
  const headers: Record<string, string> = {
    ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...(call.cookie === undefined ? {} : { cookie: `_ea_=${call.cookie}` }),
    ...(call.basic === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(call.basic).toString('base64')}` }),
    ...(call.bearer === undefined ? {} : { authorization: `Bearer ${call.bearer}` }),
    ...(call.token === undefined ? {} : { 'x-secret-token': call.token }),
    ...call.headers,
  }
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = response.headers['content-type']?.startsWith('application/json') === true
        const json = isJson && text !== '' ? JSON.parse(text) : undefined
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
