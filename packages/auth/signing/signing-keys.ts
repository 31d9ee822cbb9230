import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { signCompact } from '@warder/server'
import type { Database, Seal } from '@warder/storage'
import { es256, formatHeader, type PublicJwk, toPublicJwk, verifyCompact } from './es256.ts'
import { findSigningKeys, insertSigningKey, type SigningPurpose } from './signing-key-store.ts'

/** Signs with the newest key of a purpose, and verifies with all of them. */
export interface Signer {
  readonly publicJwks: readonly PublicJwk[]
  sign(claims: Readonly<Record<string, unknown>>): string
  verify(token: string): Readonly<Record<string, unknown>> | undefined
}

/** Generates the first key of a purpose if there is none (first start). */
export async function ensureSigningKey(
  db: Database,
  seal: Seal,
  purpose: SigningPurpose,
  now: number,
): Promise<void> {
  if ((await findSigningKeys(db, purpose)).length > 0) return
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = toPublicJwk(privateKey)
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  try {
    await insertSigningKey(db, seal, { purpose, jwk, pkcs8: der, createdAt: now })
  } finally {
    der.fill(0)
  }
}

/** Decrypts the keys of a purpose. Throws when there is none: `ensureSigningKey` runs before. */
export async function openSigner(db: Database, seal: Seal, purpose: SigningPurpose): Promise<Signer> {
  const kept = await findSigningKeys(db, purpose)
  const keys = await Promise.all(
    kept.map(async ({ kid, open }) => {
      const der = await open(seal)
      const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
      der.fill(0)
      return { privateKey, jwk: toPublicJwk(privateKey), header: formatHeader(kid) }
    }),
  )
  const newest = keys[0]
  if (newest === undefined) throw new Error(`there is no signing key for ${purpose}`)
  const verifiers = new Map<string, KeyObject>(
    keys.map(({ header, privateKey }) => [header, createPublicKey(privateKey)]),
  )
  return {
    publicJwks: keys.map(({ jwk }) => jwk),
    sign: (claims) => signCompact(es256, newest.header, claims, newest.privateKey),
    verify: (token) => verifyCompact(token, (header) => verifiers.get(header)),
  }
}
