import { change, type Database, insertInto, query, type Seal, UniqueViolation } from '@warder/storage'
import type { PublicJwk } from './es256.ts'

/**
 * Purposes of signing keys: session tokens and certificates have separate keys, so that neither is accepted as the
 * other.
 */
export type SigningPurpose = 'session' | 'certificate'

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

const sealContext = (purpose: SigningPurpose, kid: string) => ({
  table: 'signing_key',
  row: `${purpose}/${kid}`,
  column: 'sealed_private',
})

/** A stored private key: sealed PKCS#8. */
export interface SealedKey {
  readonly kid: string
  /** Decrypts the key. The caller must wipe the bytes. */
  open(seal: Seal): Promise<Buffer>
}

/** Lists the keys of a purpose, the newest first. */
export async function findSigningKeys(db: Database, purpose: SigningPurpose): Promise<readonly SealedKey[]> {
  const rows = await db.all(byPurpose, [purpose])
  return rows.map(({ kid, sealed_private }) => ({
    kid,
    open: async (seal) => Buffer.from(await seal.open(sealContext(purpose, kid), sealed_private)),
  }))
}

/** Stores a key, unless another node has just stored one with this name. */
export async function insertSigningKey(
  db: Database,
  seal: Seal,
  key: {
    readonly purpose: SigningPurpose
    readonly jwk: PublicJwk
    readonly pkcs8: Uint8Array
    readonly createdAt: number
  },
): Promise<void> {
  const { purpose, jwk, pkcs8, createdAt } = key
  const sealed = seal.seal(sealContext(purpose, jwk.kid), pkcs8)
  try {
    await db.commit([change(insert, [purpose, jwk.kid, JSON.stringify(jwk), sealed, createdAt])])
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  }
}
