import { createHash, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { generatePair, type IssuerServer, signedBy } from '@warder/external-stores/testing'
import { publicJwk, signToken } from '@warder/server'
import type { TokenIssuer } from './realms.ts'

/** An issuer of tokens, whose key set `issuers` shows. */
export async function tokenIssuer(issuers: IssuerServer): Promise<TokenIssuer> {
  const name = 'https://idp.example'
  await generatePair(name)
  const now = () => Math.floor(Date.now() / 1000)
  return {
    keys: `${issuers.url}/keys/${encodeURIComponent(name)}`,
    token: (claims) => signedBy(name, { iat: now(), exp: now() + 300, ...claims }),
  }
}

/** An OpenID provider (OpenID Connect Core 1.0 §3.1): whoever asks is logged in as alice@example.test. */
export interface OpenIdProvider extends AsyncDisposable {
  readonly issuer: string
  /** What the browser is sent back with. @param authorization address that the service sent it to */
  authorize(authorization: URL): URLSearchParams
}

/** Another Google CSE key service, which opens everything: the one that keys are moved from. */
export interface OldKeyService extends AsyncDisposable {
  readonly url: string
}

type Answers = (url: string, body: string) => unknown

/** @param home whose certificate it has */
async function serve(home: string, answers: Answers): Promise<{ readonly url: string } & AsyncDisposable> {
  const tls = (name: string) => readFileSync(join(home, 'tls', name))
  const server = createServer({ cert: tls('kms.crt'), key: tls('kms.key') }, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers(request.url ?? '', Buffer.concat(chunks).toString())))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export async function startOldKeyService(home: string, key: string): Promise<OldKeyService> {
  const service = await serve(home, () => ({ key }))
  return { url: `${service.url}/google_cse`, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

export async function startOpenIdProvider(home: string): Promise<OpenIdProvider> {
  const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk(signer.publicKey)
  const begun = new Map<string, URLSearchParams>()
  const service = await serve(home, (url, body) => {
    const issuer = service.url
    if (url === '/.well-known/openid-configuration')
      return {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      }
    if (url === '/keys') return { keys: [jwk] }
    const asked = new URLSearchParams(body)
    const login = begun.get(asked.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(asked.get('code_verifier') ?? '')
      .digest('base64url')
    if (login?.get('code_challenge') !== challenge) return { error: 'invalid_grant' }
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      aud: 'warder',
      sub: 'u1',
      iat: now,
      exp: now + 300,
      nonce: login.get('nonce'),
    }
    const user = { email: 'alice@example.test', email_verified: true }
    const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid ?? '' } as const
    const id_token = signToken(header, { ...claims, ...user }, signer.privateKey)
    return { access_token: 'at', token_type: 'Bearer', id_token }
  })
  return {
    issuer: service.url,
    authorize({ searchParams }) {
      const code = `code-${begun.size}`
      begun.set(code, searchParams)
      return new URLSearchParams({ code, state: searchParams.get('state') ?? '' })
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}
