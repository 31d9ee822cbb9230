import { type Change, change, type Database, query, type SealContext } from '@warder/storage'

/** A responder that an authority has certified. */
export interface StoredResponder {
  /** Sealed PKCS#8. */
  readonly privateKey: Uint8Array
  /** DER. */
  readonly certificate: Uint8Array
  /** Unix milliseconds. */
  readonly notAfter: number
  readonly version: number
}

interface Row {
  readonly private_key: Uint8Array
  readonly certificate: Uint8Array
  readonly not_after: number
  readonly version: number
}

const read = query<[issuer: string], Row>(
  'SELECT private_key, certificate, not_after, version FROM pki_responder WHERE issuer = ?',
)
const store = query<
  [issuer: string, key: Uint8Array, certificate: Uint8Array, notAfter: number, version: number],
  unknown
>(
  `INSERT INTO pki_responder (issuer, private_key, certificate, not_after, version) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (issuer) DO UPDATE SET private_key = excluded.private_key, certificate = excluded.certificate,
       not_after = excluded.not_after, version = excluded.version WHERE pki_responder.version < excluded.version`,
)
const setDue = query<[dueAt: number, issuer: string], unknown>(
  'UPDATE pki_issuer SET responder_due_at = ? WHERE id = ?',
)

export function responderKeySealContext(issuer: string): SealContext {
  return { table: 'pki_responder', row: issuer, column: 'private_key' }
}

export async function readResponder(db: Database, issuer: string): Promise<StoredResponder | undefined> {
  const row = await db.get(read, [issuer])
  if (row === undefined) return undefined
  const { private_key: privateKey, certificate, not_after: notAfter, version } = row
  return { privateKey, certificate, notAfter, version }
}

/** Guarded by the version: of two concurrent nodes one fails. @param dueAt when the next responder is to be made */
export function responderChanges(issuer: string, responder: StoredResponder, dueAt: number): Change[] {
  const { privateKey, certificate, notAfter, version } = responder
  return [
    change(store, [issuer, privateKey, certificate, notAfter, version], 1),
    responderDueChange(issuer, dueAt),
  ]
}

/** Sets when the responder of the issuer is checked again. */
export function responderDueChange(issuer: string, dueAt: number): Change {
  return change(setDue, [dueAt, issuer], 1)
}
