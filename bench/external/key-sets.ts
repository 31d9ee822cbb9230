import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { publicJwk, signToken } from '@warder/server'

/** A server of key sets, each of one public key, with the certificate of a home. */
export interface KeySetServer {
  /** With a slash at its end. */
  readonly url: string
  /** @param path decoded, without its first slash */
  serveAt(path: string, key: KeyObject): void
  close(): void
}

export async function startKeySets(home: string): Promise<KeySetServer> {
  const keys = new Map<string, KeyObject>()
  const file = (name: string) => readFileSync(join(home, 'tls', name))
  const server = createServer({ cert: file('kms.crt'), key: file('kms.key') }, (request, response) => {
    const key = keys.get(decodeURIComponent((request.url ?? '').slice(1)))
    if (key === undefined) response.writeHead(404).end()
    else response.end(JSON.stringify({ keys: [publicJwk(key)] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    serveAt: (path, key) => void keys.set(path, key),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** An RS256 token of one hour. */
export function createToken(
  { privateKey, publicKey }: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  claims: Readonly<Record<string, unknown>>,
): string {
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: 'RS256', typ: 'JWT', kid: publicJwk(publicKey).kid }
  return signToken(header, { iat: now, exp: now + 3600, ...claims }, privateKey)
}
