import { isIP } from 'node:net'
import { duplexPair } from 'node:stream'
import { connect, createSecureContext, TLSSocket } from 'node:tls'

export interface ServerPair {
  /** PEM: the server's certificate, then its intermediates. */
  readonly cert: Buffer
  readonly key: Buffer
}

export interface Refusal {
  /** `name`: the certificate is for other names; `trust`: it does not verify (authority unknown, expired …). */
  readonly reason: 'name' | 'trust'
  readonly detail: string
}

/**
 * Whether a TLS client would accept a server certificate: found by a handshake in memory, so that the answer
 * is that of the real one.
 * @param host name or address of the server for the client
 * @param authorities PEM of those that the client trusts; undefined = the default ones @returns the reason of
 *   a refusal
 */
export async function findClientRefusal(
  { cert, key }: ServerPair,
  host: string,
  authorities: readonly string[] | undefined,
): Promise<Refusal | undefined> {
  const [near, far] = duplexPair()
  const secureContext = createSecureContext({ cert, key })
  const server = new TLSSocket(far, { isServer: true, secureContext })
  // The client ends the handshake that it refuses; its reason is the one that counts.
  server.on('error', () => undefined)
  const client = connect({
    socket: near,
    host,
    rejectUnauthorized: true,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(authorities === undefined ? {} : { ca: [...authorities] }),
  })
  try {
    return await new Promise((resolve) => {
      client.once('secureConnect', () => resolve(undefined))
      client.once('error', (error: NodeJS.ErrnoException) =>
        resolve({
          reason: error.code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? 'name' : 'trust',
          detail: error.message,
        }),
      )
    })
  } finally {
    client.destroy()
    server.destroy()
  }
}
