import { randomBytes } from 'node:crypto'
import type { HttpsClient } from '@warder/command-line/https-client'
import type { Installation } from 'warder/testing'

export interface Scenario {
  readonly name: string
  readonly server: 'echo' | 'frame echo' | 'auth' | 'kms'
  /** KMIP: a message over a socket of its own, `body` in base64, `expect.includes` in hex. */
  readonly method: 'GET' | 'POST' | 'KMIP'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Sent in turn instead of `body`. */
  readonly bodies?: readonly string[]
  /** Client certificate and its key, PEM. */
  readonly identity?: { readonly cert: string; readonly key: string }
  readonly expect: { readonly status: number; readonly includes: string }
  /** Name of the bare primitive to compare with. */
  readonly primitive?: string
  readonly connections?: number
  /** Its latency is also measured at half the load that the server can bear. */
  readonly halfLoad?: true
  /** The bare echo to compare with; absent: the first scenario. */
  readonly limit?: Scenario
}

/** Content keys of tokens that the kms of a benchmark remembers, and tokens that are sent in turn: each is new to it. */
export const rememberedTokens = 1000
const differentTokens = 1200

type Json = Readonly<Record<string, unknown>>

/** Logs in, makes the keys, and describes the measurement. The first scenario is the echo, of the same request. */
export async function prepareScenarios(
  warder: Installation,
  kms: HttpsClient,
  echoUrl: string,
): Promise<readonly Scenario[]> {
  const basic = `Basic ${Buffer.from(`admin:${warder.password}`).toString('base64')}`
  const token = await warder.adminToken()
  const bearer = { Authorization: `Bearer ${token}` }
  const ask = async (path: string, json: Json): Promise<Json> => {
    const answer = await kms.ask(path, { json, headers: bearer })
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
    return answer.json as Json
  }
  const data = randomBytes(64).toString('base64url')
  const aes = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const hmac = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })
  const ec = await ask('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const rsa = await ask('/v1/crypto/keys', { kty: 'RSA', bits: 2048, alg: 'RS256' })
  const encrypt = { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data }
  const sealed = await ask('/v1/crypto/encrypt', encrypt)
  for (const alias of ['bench', 'transit/bench']) await ask('/v1/crypto/aliases', { alias, kid: aes.kid })
  const transit = { plaintext: Buffer.from(data, 'base64url').toString('base64') }
  const oaep = await ask('/v1/crypto/keys', { kty: 'RSA', bits: 2048, alg: 'RSA-OAEP-256' })
  const wrap = { kid: oaep.kid, alg: 'RSA-OAEP-256', enc: 'A256GCM', data }
  const wrapped: Json[] = []
  while (wrapped.length < differentTokens) wrapped.push(await ask('/v1/crypto/encrypt', wrap))
  const pss = await ask('/v1/crypto/keys', { kty: 'RSA', bits: 2048, alg: 'PS256' })
  const batch = { operations: Array.from({ length: 100 }, () => ({ op: 'encrypt', ...encrypt })) }
  const post = (
    name: string,
    path: string,
    body: Json,
    includes: string,
    more: Partial<Scenario> = {},
  ): Scenario => ({
    name,
    server: 'kms',
    method: 'POST',
    url: warder.kmsUrl + path,
    headers: bearer,
    body: JSON.stringify(body),
    expect: { status: 200, includes },
    ...more,
  })
  return [
    {
      ...post('bare node:https JSON echo', '/', encrypt, data),
      server: 'echo',
      url: `${echoUrl}/`,
    },
    post('encrypt A256GCM 64 B', '/v1/crypto/encrypt', encrypt, '"ciphertext"', {
      primitive: 'AES-256-GCM encrypt 64 B',
    }),
    post(
      'encrypt A256GCM 64 B, by an alias',
      '/v1/crypto/encrypt',
      { ...encrypt, kid: 'alias/bench' },
      '"ciphertext"',
      {
        primitive: 'AES-256-GCM encrypt 64 B',
      },
    ),
    post('transit encrypt 64 B', '/v1/transit/encrypt/bench', transit, '"ciphertext"', {
      primitive: 'AES-256-GCM encrypt 64 B',
    }),
    post('decrypt A256GCM 64 B', '/v1/crypto/decrypt', sealed, data, {
      primitive: 'AES-256-GCM decrypt 64 B',
    }),
    post('mac HS256', '/v1/crypto/mac', { kid: hmac.kid, alg: 'HS256', data }, '"mac"', {
      primitive: 'HS256',
    }),
    post('sign ES256', '/v1/crypto/sign', { kid: ec.kid, alg: 'ES256', data }, '"signature"', {
      primitive: 'ES256 sign',
    }),
    post('sign RS256 (2048)', '/v1/crypto/sign', { kid: rsa.kid, alg: 'RS256', data }, '"signature"', {
      primitive: 'RS256 (2048) sign',
    }),
    post('sign PS256 (2048)', '/v1/crypto/sign', { kid: pss.kid, alg: 'PS256', data }, '"signature"', {
      primitive: 'PS256 (2048) sign',
    }),
    post('decrypt RSA-OAEP-256 (2048), new tokens', '/v1/crypto/decrypt', {}, data, {
      bodies: wrapped.map((token) => JSON.stringify(token)),
      primitive: 'RSA-OAEP-256 (2048) decrypt',
    }),
    post('decrypt RSA-OAEP-256 (2048), the same token', '/v1/crypto/decrypt', wrapped[0] ?? {}, data, {
      primitive: 'RSA-OAEP-256 (2048) decrypt',
    }),
    // Requests of a hundred items each.
    post('batch of 100 encrypts', '/v1/crypto/batch', batch, '"ciphertext"'),
    post('encrypt, one caller', '/v1/crypto/encrypt', encrypt, '"ciphertext"', { connections: 1 }),
    post('batch of 100 encrypts, one caller', '/v1/crypto/batch', batch, '"ciphertext"', { connections: 1 }),
    post('create a key, one at a time', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' }, '"kid"', {
      connections: 1,
    }),
    post('create keys, 64 at a time', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' }, '"kid"', {
      connections: 64,
    }),
    {
      name: 'whoami',
      server: 'auth',
      method: 'GET',
      url: `${warder.authUrl}/whoami?realm=_`,
      headers: { Cookie: `_ea_=${token}` },
      body: undefined,
      expect: { status: 200, includes: '"sub":"admin"' },
    },
    {
      name: 'login (argon2id, 64 MiB)',
      server: 'auth',
      method: 'POST',
      url: `${warder.authUrl}/login?realm=_`,
      headers: { Authorization: basic },
      body: '{}',
      expect: { status: 200, includes: 'Authenticated' },
      connections: 4,
    },
  ]
}
