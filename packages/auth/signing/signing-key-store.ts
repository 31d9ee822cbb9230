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
interface SealedKey {
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

/**
 * Maximum number of issuers. Nodes without an `issuer` setting have one each, and a new one with each new address:
 * the oldest are deleted.
 */
const maxIssuers = 1000

const put = query<[issuer: string, startedAt: number], unknown>(
  `INSERT INTO session_issuer (issuer, started_at) VALUES (?, ?)
    ON CONFLICT (issuer) DO UPDATE SET started_at = excluded.started_at`,
)
const forgetOldest = query<[limit: number], unknown>(
  `DELETE FROM session_issuer WHERE issuer NOT IN
    (SELECT issuer FROM session_issuer ORDER BY started_at DESC, issuer LIMIT ?)`,
)
const all = query<[limit: number], { readonly issuer: string }>(
  'SELECT issuer FROM session_issuer ORDER BY started_at DESC, issuer LIMIT ?',
)

/** Registers that tokens signed with the keys of this database have this `iss`. @param startedAt Unix seconds */
export async function registerIssuer(db: Database, issuer: string, startedAt: number): Promise<void> {
  await db.commit([change(put, [issuer, startedAt]), change(forgetOldest, [maxIssuers])])
}

/** Lists the issuers of all nodes of this database, the most recently started first. */
export async function sessionIssuers(db: Database): Promise<readonly string[]> {
  const rows = await db.all(all, [maxIssuers])
  return rows.map(({ issuer }) => issuer)
}
