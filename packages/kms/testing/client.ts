import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, request } from 'node:https'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of whatever was answered
  readonly json: any
}

export interface Call {
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** Instead of `json`: sent as it is, as JSON. */
  readonly text?: string
  /** Instead of `json`: sent as it is; say the content type in `headers`. */
  readonly bytes?: Uint8Array
}

export interface Caller {
  call(method: string, path: string, call?: Call): Promise<Answer>
  get(path: string): Promise<Answer>
  post(path: string, json: unknown): Promise<Answer>
  del(path: string, json?: unknown): Promise<Answer>
}

export interface CallerOptions {
  readonly port: number
  readonly ca: string
  readonly headers?: Readonly<Record<string, string>>
  /** Client certificate. */
  readonly cert?: string
  readonly key?: string
}

/** A caller of the service over HTTPS; `agents` collects agents to close. */
export function caller(options: CallerOptions, agents: Agent[]): Caller {
  const { port, ca, cert, key } = options
  const identity = cert === undefined || key === undefined ? {} : { cert, key }
  const agent = new Agent({ keepAlive: true, ca, servername: 'localhost', ...identity })
  agents.push(agent)
  const call = (method: string, path: string, { headers, json, text, bytes }: Call = {}): Promise<Answer> => {
    const body = bytes ?? (json === undefined ? text : JSON.stringify(json))
    const described: Record<string, string> =
      body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          agent,
          host: '127.0.0.1',
          port,
          method,
          path,
          headers: { ...described, ...options.headers, ...headers },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const whole = Buffer.concat(chunks)
            const received = whole.toString('utf8')
            const isJson = /\bjson/.test(response.headers['content-type'] ?? '')
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: received,
              bytes: whole,
              json: isJson && received !== '' ? JSON.parse(received) : undefined,
            })
          })
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }
  return {
    call,
    get: (path) => call('GET', path),
    post: (path, json) => call('POST', path, { json }),
    del: (path, json) => call('DELETE', path, json === undefined ? {} : { json }),
  }
}

/** Grants a user operations on an object. */
export async function grant(
  owner: Caller,
  id: string | undefined,
  user: string,
  ...operations: readonly string[]
): Promise<void> {
  assert.ok(id !== undefined)
  const body = { unique_identifier: id, user_id: user, operation_types: operations }
  const { status, text } = await owner.post('/access/grant', body)
  assert.equal(status, 200, text)
}
