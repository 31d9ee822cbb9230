import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Seal } from '@warder/foundation/seal'
import { change, type Database, insertInto, query, UniqueViolation } from '@warder/foundation/sql'
import { headerOf, type PublicJwk, publicJwkOf, signCompact, verifyCompact } from './es256.ts'

/** Session tokens and certificates are signed with keys of their own, so that neither passes for the other. */
export type SigningPurpose = 'session' | 'certificate'

/** Signs with the newest key of one purpose, verifies with all of them. */
export interface Signer {
  readonly publicJwks: readonly PublicJwk[]
  sign(claims: Readonly<Record<string, unknown>>): string
  verify(token: string): Readonly<Record<string, unknown>> | undefined
}

interface KeyRow {
  readonly kid: string
  readonly sealed_private: Uint8Array
}

const byPurpose = query<[purpose: string], KeyRow>(
  'SELECT kid, sealed_private FROM signing_key WHERE purpose = ? ORDER BY created_at DESC, kid',
)
const insert = insertInto<[string, string, string, Uint8Array, number]>('signing_key', [
  'purpose',
  'kid',
  'public_jwk',
  'sealed_private',
  'created_at',
])

const place = (purpose: SigningPurpose, kid: string) => ({
  table: 'signing_key',
  row: `${purpose}/${kid}`,
  column: 'sealed_private',
})

/** Makes the first key of a purpose where there is none (first run). */
export async function ensureSigningKey(
  db: Database,
  seal: Seal,
  purpose: SigningPurpose,
  now: number,
): Promise<void> {
  const known = await db.all(byPurpose, [purpose])
  if (known.length > 0) return
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwkOf(privateKey)
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  const sealed = seal.seal(place(purpose, jwk.kid), der)
  der.fill(0)
  try {
    await db.commit([change(insert, [purpose, jwk.kid, JSON.stringify(jwk), sealed, now])])
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  }
}

/** Opens the keys of a purpose. Throws when there is none: `ensureSigningKey` runs before. */
export async function openSigner(db: Database, seal: Seal, purpose: SigningPurpose): Promise<Signer> {
  const rows = await db.all(byPurpose, [purpose])
  const keys = await Promise.all(
    rows.map(async ({ kid, sealed_private }) => {
      const der = Buffer.from(await seal.open(place(purpose, kid), sealed_private))
      const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
      der.fill(0)
      return { privateKey, jwk: publicJwkOf(privateKey), header: headerOf(kid) }
    }),
  )
  const newest = keys[0]
  if (newest === undefined) throw new Error(`there is no signing key for ${purpose}`)
  const verifiers = new Map<string, KeyObject>(
    keys.map(({ header, privateKey }) => [header, createPublicKey(privateKey)]),
  )
  return {
    publicJwks: keys.map(({ jwk }) => jwk),
    sign: (claims) => signCompact(newest.privateKey, newest.header, claims),
    verify: (token) => verifyCompact(token, (header) => verifiers.get(header)),
  }
}
