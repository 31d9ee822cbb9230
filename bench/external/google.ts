import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { HttpsClient } from '@warder/command-line/https-client'
import type { Installation } from 'warder/testing'
import type { Scenario } from '../scenarios.ts'
import type { Administrator } from './administrator.ts'
import { createToken, type KeySetServer } from './key-sets.ts'

const kaclsUrl = 'https://kms.example.com/google_cse'
const google = 'gsuitecse-tokenissuer-drive@system.gserviceaccount.com'
const provider = 'https://idp.example.com'
const dataKey = randomBytes(32).toString('base64')
const pairs = {
  [google]: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  [provider]: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

/** Settings of a service that wraps for the tokens of two issuers, with a key that is made for it. */
export async function googleSettings(
  administrator: Administrator,
  keySets: KeySetServer,
): Promise<Readonly<Record<string, string>>> {
  for (const [issuer, { publicKey }] of Object.entries(pairs)) keySets.serveAt(issuer, publicKey)
  const oct = { kty: 'oct', alg: 'A256GCM' }
  return {
    KMS_GOOGLE_CSE_ENABLE: 'true',
    KMS_GOOGLE_CSE_KEY: await administrator.grantedKey(oct, 'google:*', ['encrypt', 'decrypt']),
    KMS_GOOGLE_CSE_SIGNING_KEY: 'none',
    KMS_GOOGLE_CSE_OWNER_DOMAIN: 'example.com',
    KMS_GOOGLE_CSE_IDENTITY_PROVIDERS: `${provider},${keySets.url}${encodeURIComponent(provider)},cse`,
    KMS_GOOGLE_CSE_AUTHORIZATION_KEYS: keySets.url,
  }
}

function token(iss: keyof typeof pairs, claims: Readonly<Record<string, unknown>>): string {
  return createToken(pairs[iss], { iss, email: 'alice@example.com', ...claims })
}

/** Tokens that are sent in turn: no cache of tokens would help. */
const differentTokens = 200

/** Wrap and unwrap, each with two RS256 tokens; the limit is the echo of the same request. */
export async function googleScenarios(
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
      halfLoad: true,
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
