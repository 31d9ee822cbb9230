import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { publicJwk, signToken } from '@warder/foundation/jwt'
import type { HttpsClient } from 'warder/client'
import { type Installation, startInstallation } from 'warder/testing'
import type { Scenario } from '../scenarios.ts'

const kaclsUrl = 'https://kms.example.com/google_cse'
const google = 'gsuitecse-tokenissuer-drive@system.gserviceaccount.com'
const provider = 'https://idp.example.com'
const dataKey = randomBytes(32).toString('base64')

/** Google and an identity provider, with keys of their own. */
export interface GoogleIssuers {
  /** Settings of a service that accepts their tokens and wraps with a key that is in its home. */
  readonly env: Readonly<Record<string, string>>
  scenarios(warder: Installation, kms: HttpsClient, echoUrl: string): Promise<readonly Scenario[]>
  close(): void
}

const pairs = {
  [google]: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  [provider]: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}
type Issuer = keyof typeof pairs

/** Starts the issuers, and makes the wrapping key in the home, which is started for a moment. */
export async function startGoogleIssuers(home: string): Promise<GoogleIssuers> {
  const kid = await wrappingKeyIn(home)
  const server = keySetServer(home)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    env: {
      KMS_PUBLIC_URL: kaclsUrl.slice(0, -'/google_cse'.length),
      KMS_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true',
      KMS_OUTBOUND_CA_FILE: 'tls/ca.crt',
      KMS_GOOGLE_CSE_ENABLE: 'true',
      KMS_GOOGLE_CSE_KEY: kid,
      KMS_GOOGLE_CSE_SIGNING_KEY: 'none',
      KMS_GOOGLE_CSE_OWNER_DOMAIN: 'example.com',
      KMS_GOOGLE_CSE_IDENTITY_PROVIDERS: `${provider},${url}${encodeURIComponent(provider)},cse`,
      KMS_GOOGLE_CSE_AUTHORIZATION_KEYS: url,
    },
    scenarios: prepareGoogleScenarios,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function keySetServer(home: string): Server {
  const file = (name: string) => readFileSync(join(home, 'tls', name))
  return createServer({ cert: file('kms.crt'), key: file('kms.key') }, (request, response) => {
    const issuer = decodeURIComponent((request.url ?? '').slice(1)) as Issuer
    response.end(JSON.stringify({ keys: [publicJwk(pairs[issuer].publicKey)] }))
  })
}

async function wrappingKeyIn(home: string): Promise<string> {
  const warder = await startInstallation({ home })
  const kms = warder.client('kms')
  try {
    const headers = { Authorization: `Bearer ${await warder.adminToken()}` }
    const ask = async (path: string, json: object): Promise<{ readonly kid?: string }> => {
      const answer = await kms.ask(path, { json, headers })
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
      return answer.json as { readonly kid?: string }
    }
    const { kid = '' } = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
    await ask('/access/grant', {
      unique_identifier: kid,
      user_id: 'google:*',
      operation_types: ['encrypt', 'decrypt'],
    })
    return kid
  } finally {
    kms.close()
    await warder.stop()
  }
}

function token(issuer: Issuer, claims: Readonly<Record<string, unknown>>): string {
  const now = Math.floor(Date.now() / 1000)
  const { privateKey, publicKey } = pairs[issuer]
  const header = { alg: 'RS256', typ: 'JWT', kid: publicJwk(publicKey).kid }
  const all = { iss: issuer, iat: now, exp: now + 3600, email: 'alice@example.com', ...claims }
  return signToken(header, all, privateKey)
}

/** Tokens that are sent in turn: no cache of tokens would help. */
const differentTokens = 200

/** Wrap and unwrap, each with two RS256 tokens; the limit is the echo of the same request. */
async function prepareGoogleScenarios(
  warder: Installation,
  kms: HttpsClient,
  echoUrl: string,
): Promise<readonly Scenario[]> {
  const tokens = (resource_name: string) => ({
    authentication: token(provider, { aud: 'cse', nonce: resource_name }),
    authorization: token(google, {
      aud: 'cse-authorization',
      kacls_url: kaclsUrl,
      kacls_owner_domain: 'example.com',
      resource_name,
      role: 'writer',
    }),
  })
  const names = Array.from({ length: differentTokens }, (_, index) => `//googleapis.com/drive/files/${index}`)
  const wraps = names.map((name) => ({
    ...tokens(name),
    key: dataKey,
    reason: "{client:'drive' op:'update'}",
  }))
  const unwraps: object[] = []
  for (const [index, wrap] of wraps.entries()) {
    const answer = await kms.ask('/google_cse/wrap', { json: wrap })
    if (answer.status !== 200) throw new Error(`wrap answered ${answer.status}: ${answer.text}`)
    const { wrapped_key } = answer.json as { readonly wrapped_key: string }
    unwraps.push({ ...tokens(names[index] ?? ''), reason: "{client:'drive' op:'read'}", wrapped_key })
  }
  const scenario = (
    name: string,
    operation: string,
    bodies: readonly object[],
    includes: string,
  ): Scenario => {
    const texts = bodies.map((body) => JSON.stringify(body))
    const common = { method: 'POST', headers: {}, body: texts[0] } as const
    return {
      ...common,
      name,
      server: 'kms',
      url: `${warder.kmsUrl}/google_cse/${operation}`,
      bodies: texts,
      expect: { status: 200, includes },
      limit: {
        ...common,
        name: 'echo of the same',
        server: 'echo',
        url: `${echoUrl}/`,
        expect: { status: 200, includes: 'authentication' },
      },
    }
  }
  return [
    scenario('CSE wrap, two RS256 tokens', 'wrap', wraps, '"wrapped_key"'),
    scenario('CSE unwrap, two RS256 tokens', 'unwrap', unwraps, dataKey),
  ]
}
