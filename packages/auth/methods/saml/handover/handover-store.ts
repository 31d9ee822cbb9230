import { createHash } from 'node:crypto'
import { type Change, change, type Database, insertInto, query } from '@warder/storage'

/** A session that waits for the program or service that requested it. */
export interface Handover {
  readonly sessionId: string
  readonly realm: string
  /** Expected hash of the `code_verifier` (RFC 7636 §4.2, S256). */
  readonly challenge: string
  /** Unix seconds. */
  readonly expiresAt: number
}

interface HandoverRow {
  readonly session_id: string
  readonly code_challenge: string
  readonly expires_at: number
}

const find = query<[hash: Uint8Array, realm: string, now: number], HandoverRow>(
  `SELECT session_id, code_challenge, expires_at FROM saml_handover
     WHERE code_hash = ? AND realm_id = ? AND expires_at > ?`,
)
const insert = insertInto<[Uint8Array, string, string, string, number]>('saml_handover', [
  'code_hash',
  'session_id',
  'realm_id',
  'code_challenge',
  'expires_at',
])
const take = query<[hash: Uint8Array, now: number], unknown>(
  'DELETE FROM saml_handover WHERE code_hash = ? AND expires_at > ?',
)

/** A code has 256 random bits: its hash needs no salt. */
function hashCode(code: string): Uint8Array {
  return createHash('sha256').update(code).digest()
}

/** Finds a handover of this realm that has not expired. */
export async function findHandover(
  db: Database,
  wanted: { readonly code: string; readonly realm: string },
  now: number,
): Promise<Handover | undefined> {
  const row = await db.get(find, [hashCode(wanted.code), wanted.realm, now])
  if (row === undefined) return undefined
  return {
    sessionId: row.session_id,
    realm: wanted.realm,
    challenge: row.code_challenge,
    expiresAt: row.expires_at,
  }
}

export function handoverInsertion(code: string, handover: Handover): Change {
  const { sessionId, realm, challenge, expiresAt } = handover
  return change(insert, [hashCode(code), sessionId, realm, challenge, expiresAt])
}

/** Consumes a handover. A guard: succeeds once. */
export function handoverUse(code: string, now: number): Change {
  return change(take, [hashCode(code), now], 1)
}
