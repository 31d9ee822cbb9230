import { randomBytes } from 'node:crypto'
import {
  type Change,
  change,
  type Database,
  query,
  type Seal,
  type SealContext,
  UniqueViolation,
} from '@warder/storage'

const insert = query<[nonce: string, until: number], unknown>(
  'INSERT INTO acme_used_nonce (nonce, until_ms) VALUES (?, ?)',
)
const sweep = query<[now: number], unknown>('DELETE FROM acme_used_nonce WHERE until_ms <= ?')
const readKey = query<[id: string], { readonly secret: Uint8Array }>(
  'SELECT secret FROM acme_secret WHERE id = ?',
)
const insertKey = query<[id: string, secret: Uint8Array], unknown>(
  'INSERT INTO acme_secret (id, secret) VALUES (?, ?)',
)

/** @throws UniqueViolation by the commit, when it was used before */
export function useNonce(nonce: string, until: number): Change {
  return change(insert, [nonce, until], 1)
}

/** Deletes nonces that have expired. */
export function sweepNonces(now: number): Change {
  return change(sweep, [now])
}

const id = 'nonces'
const place: SealContext = { table: 'acme_secret', row: id, column: 'secret' }
const keyBytes = 32

/** The MAC key of nonces, the same on all nodes. The first node that needs the key creates it. */
export async function nonceKey(db: Database, seal: Seal): Promise<Uint8Array> {
  const row = await db.get(readKey, [id])
  if (row !== undefined) return seal.open(place, row.secret)
  const fresh = randomBytes(keyBytes)
  try {
    await db.commit([change(insertKey, [id, seal.seal(place, fresh)], 1)])
    return fresh
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
    return nonceKey(db, seal)
  }
}
