import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
  /** Parsed body, undefined when it is not JSON. */
  readonly json: unknown
}

export interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
}

const maximumAnswer = 64 * 1024 * 1024

/** A client of one service that trusts one certificate authority and keeps its connection. */
export interface HttpsClient {
  ask(path: string, ask?: Ask): Promise<Answer>
  close(): void
}

/**
 * @param baseUrl e.g. `https://127.0.0.1:8443`
 * @param caFile PEM of the authority to trust; undefined = the system's
 */
export function httpsClient(baseUrl: string, caFile: string | undefined): HttpsClient {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 8,
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
  })
  return {
    ask: (path, ask = {}) =>
      new Promise((resolve, reject) => {
        const body = ask.json === undefined ? undefined : Buffer.from(JSON.stringify(ask.json))
        const outgoing = request(
          new URL(path, baseUrl),
          {
            agent,
            method: ask.method ?? (body === undefined ? 'GET' : 'POST'),
            timeout: 30_000,
            headers: {
              ...(body === undefined
                ? {}
                : { 'content-type': 'application/json', 'content-length': body.length }),
              ...ask.headers,
            },
          },
          (incoming) => {
            const parts: Buffer[] = []
            let size = 0
            incoming.on('data', (part: Buffer) => {
              size += part.length
              if (size > maximumAnswer) incoming.destroy(new Error('the answer is too large'))
              else parts.push(part)
            })
            incoming.on('error', reject)
            incoming.on('end', () => {
              const text = Buffer.concat(parts).toString('utf8')
              resolve({
                status: incoming.statusCode ?? 0,
                headers: incoming.headers,
                text,
                json: parsed(text),
              })
            })
          },
        )
        outgoing.on('timeout', () =>
          outgoing.destroy(new Error(`${baseUrl} did not answer within 30 seconds`)),
        )
        outgoing.on('error', reject)
        outgoing.end(body)
      }),
    close: () => agent.destroy(),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
