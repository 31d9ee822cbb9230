import { readFileSync } from 'node:fs'
import type { Endpoint } from 'warder/testing'
import type { TestServer } from './own-server.ts'

/** Options that name a server which runs already. */
export interface GivenServer {
  readonly socket?: string | undefined
  readonly url?: string | undefined
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/**
 * A server that already runs. Every case is the same client there, so cases that search for objects may find those of
 * others: an empty server is best.
 */
export function connectGivenServer({ socket, url, ca, cert, key }: GivenServer): TestServer {
  const pem = (file: string | undefined): string => (file === undefined ? '' : readFileSync(file, 'utf8'))
  const endpoint: Endpoint = {
    socket: socket === undefined ? undefined : parseHostAndPort(socket),
    url,
    ca: pem(ca),
    cert: pem(cert),
    key: pem(key),
  }
  return { familiesAtOnce: 1, as: async () => endpoint, [Symbol.asyncDispose]: async () => undefined }
}

function parseHostAndPort(text: string): { readonly host: string; readonly port: number } {
  const colon = text.lastIndexOf(':')
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) }
}
