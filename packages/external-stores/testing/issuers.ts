import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'

type Pair = Awaited<ReturnType<typeof generateKeyPair>>

/** Issuers of tokens that are not ours, made once for all tests of a process; the names are of their key sets. */
const pairs = new Map<string, Promise<Pair>>()

export function generatePair(issuer: string): Promise<Pair> {
  const known = pairs.get(issuer) ?? generateKeyPair('RS256', { extractable: true })
  pairs.set(issuer, known)
  return known
}

/** `kid` of the keys of issuers that exchanged theirs; else it is the name of the issuer. */
const kids = new Map<string, string>()

/** An issuer exchanges its key: the key set has the new one alone. No other test of the process may use the issuer. */
export async function exchangePair(issuer: string, kid: string): Promise<void> {
  pairs.set(issuer, generateKeyPair('RS256', { extractable: true }))
  kids.set(issuer, kid)
  await pairs.get(issuer)
}

/** Signs with the key of an issuer, by the `jose` library. */
export async function signedBy(
  issuer: string,
  claims: JWTPayload,
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const { privateKey } = await generatePair(issuer)
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: kids.get(issuer) ?? issuer, ...header })
    .sign(privateKey)
}

/** The key sets of all issuers over HTTPS: `/keys/<issuer>`, and paths of their own. */
export interface IssuerServer extends AsyncDisposable {
  readonly url: string
  /** Addresses of the key sets that were asked for. */
  readonly requests: string[]
  /** false: every request fails. */
  up: boolean
  /** Another path of the key set of an issuer. */
  serveAt(path: string, issuer: string): void
  /** Serves with the certificate of a home, once there is one. */
  trustAs(home: string): void
}

export async function startIssuers(): Promise<IssuerServer> {
  const requests: string[] = []
  const paths = new Map<string, string>()
  const server = createServer({}, (request, response) => {
    const { url = '' } = request
    requests.push(url)
    if (!state.up) {
      response.writeHead(503).end()
      return
    }
    const issuer = paths.get(url) ?? decodeURIComponent(url.slice('/keys/'.length))
    const known = pairs.get(issuer)
    if (known === undefined) {
      response.writeHead(404).end()
      return
    }
    void known
      .then(({ publicKey }) => exportJWK(publicKey))
      .then((jwk) =>
        response.end(JSON.stringify({ keys: [{ ...jwk, kid: kids.get(issuer) ?? issuer, use: 'sig' }] })),
      )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const state: IssuerServer = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    up: true,
    serveAt: (path, issuer) => paths.set(path, issuer),
    trustAs: (home) =>
      server.setSecureContext({
        cert: readFileSync(join(home, 'tls', 'kms.crt')),
        key: readFileSync(join(home, 'tls', 'kms.key')),
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return state
}
