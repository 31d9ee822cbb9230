import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { httpsTransport, type Transport, type TransportOptions } from '@warder/client'

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

const maxAnswerBytes = 64 * 1024 * 1024

/** A client of one service with persistent connections, which trusts one certificate authority. */
export interface HttpsClient {
  ask(path: string, ask?: Ask): Promise<Answer>
  close(): void
}

/** Address of a service, and the parameters to verify its certificate. */
export interface Server {
  readonly url: string
  /** PEM file of the authority to trust; undefined: the system's. */
  readonly caFile: string | undefined
  /** Expected name in its certificate; undefined: the name in the address. */
  readonly serverName?: string | undefined
}

/** Opens a client of a server. @throws StartupError when its parameters are invalid */
export function openClient(
  { url, caFile, serverName }: Server,
  certificate?: { readonly cert: string; readonly key: string },
): HttpsClient {
  return httpsClient(url, caFile, serverName, certificate)
}

/**
 * @param baseUrl e.g. `https://127.0.0.1:8443`
 * @param caFile PEM of the authority to trust; undefined = the system's
 * @param certificate PEM of a client certificate and its private key
 * @throws StartupError when they cannot be used
 */
export function httpsClient(
  baseUrl: string,
  caFile: string | undefined,
  serverName?: string,
  certificate?: { readonly cert: string; readonly key: string },
): HttpsClient {
  const transport = openTransport({
    baseUrl,
    ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    serverName,
    certificate,
    timeoutMs: 30_000,
    maxConnections: 8,
    maxAnswerBytes,
  })
  return {
    async ask(path, { method, headers: given, json: sent } = {}) {
      const content = sent === undefined ? undefined : Buffer.from(JSON.stringify(sent))
      const type: Record<string, string> = content === undefined ? {} : { 'content-type': 'application/json' }
      const { status, headers, body } = await transport.send(
        method ?? (content === undefined ? 'GET' : 'POST'),
        path,
        { ...type, ...given },
        content,
      )
      const text = new TextDecoder().decode(body)
      return { status, headers, text, json: parseJson(text) }
    },
    close: () => transport.close(),
  }
}

/** @throws StartupError for an address, an authority or a certificate that cannot be used */
export function openTransport(options: TransportOptions): Transport {
  try {
    return httpsTransport(options)
  } catch (error) {
    throw error instanceof TypeError ? new StartupError(error.message, { cause: error }) : error
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
