import { constants, createPublicKey, generateKeyPairSync, publicEncrypt, randomBytes } from 'node:crypto'
import type { HttpsClient } from '@warder/command-line/https-client'
import type { Installation } from 'warder/testing'
import type { Scenario } from '../scenarios.ts'
import type { Administrator } from './administrator.ts'
import { createToken, type KeySetServer } from './key-sets.ts'

const tenant = '2ec40e65-ba09-4853-bcde-bcb60029e596'
const audience = 'https://kms.example.com'
const entra = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** Settings of a service whose key `finance` decrypts for the users of a tenant. */
export async function microsoftSettings(
  administrator: Administrator,
  keySets: KeySetServer,
): Promise<Readonly<Record<string, string>>> {
  keySets.serveAt(`${tenant}/discovery/keys`, entra.publicKey)
  const rsa = { kty: 'RSA', bits: 2048, alg: 'RSA-OAEP-256' }
  const kid = await administrator.grantedKey(rsa, 'microsoft:*', ['decrypt'])
  return {
    KMS_MS_DKE_ENABLE: 'true',
    KMS_MS_DKE_KEYS: `finance=${kid}`,
    KMS_MS_DKE_TENANTS: tenant,
    KMS_MS_DKE_AUTHORITY: keySets.url.slice(0, -1),
    KMS_MS_DKE_AUDIENCE: audience,
  }
}

/** Decryption of the key of a document, with the RS256 token of its reader, as Office asks for it. */
export async function microsoftScenarios(
  warder: Installation,
  kms: HttpsClient,
  echoUrl: string,
): Promise<readonly Scenario[]> {
  const answer = await kms.ask('/ms_dke/finance')
  const { key } = answer.json as { readonly key: { readonly n: string; readonly e: number; kid: string } }
  const jwk = {
    kty: 'RSA',
    n: Buffer.from(key.n, 'base64').toString('base64url'),
    e: Buffer.of(key.e >> 16, key.e >> 8, key.e).toString('base64url'),
  }
  const secret = randomBytes(32)
  const value = publicEncrypt(
    {
      key: createPublicKey({ key: jwk, format: 'jwk' }),
      padding: constants.RSA_PKCS1_OAEP_PADDING,
      oaepHash: 'sha256',
    },
    secret,
  ).toString('base64')
  const token = createToken(entra, {
    iss: `https://sts.windows.net/${tenant}/`,
    aud: audience,
    tid: tenant,
    upn: 'alice@contoso.com',
  })
  const common = {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ alg: 'RSA-OAEP-256', value }),
  } as const
  return [
    {
      ...common,
      name: 'DKE decrypt (2048), one RS256 token',
      server: 'kms',
      url: `${warder.kmsUrl}${new URL(key.kid).pathname}/decrypt`,
      expect: { status: 200, includes: secret.toString('base64') },
      primitive: 'RSA-OAEP-256 (2048) decrypt',
      halfLoad: true,
      limit: {
        ...common,
        name: 'echo of the same',
        server: 'echo',
        url: `${echoUrl}/`,
        expect: { status: 200, includes: 'RSA-OAEP-256' },
      },
    },
  ]
}
