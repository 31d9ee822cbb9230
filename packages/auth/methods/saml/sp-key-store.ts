import { type Change, change, type Database, insertInto, query, type Seal } from '@warder/storage'

/** A stored key of the service provider. Times are Unix seconds. */
export interface KeptSpKey {
  /** 1, 2, 3 …: the name of the key. */
  readonly generation: number
  /** PEM. */
  readonly certificate: string
  /** It signs from this time until a later key does. */
  readonly signsFrom: number
  readonly createdAt: number
}

interface KeyRow {
  readonly generation: number
  readonly certificate: string
  readonly signs_from: number
  readonly created_at: number
}

const columns = 'generation, certificate, signs_from, created_at'
const all = query<[], KeyRow>(`SELECT ${columns} FROM saml_key ORDER BY generation DESC`)
const selectSealed = query<[generation: number], { readonly sealed_private: Uint8Array }>(
  'SELECT sealed_private FROM saml_key WHERE generation = ?',
)
const insert = insertInto<[number, Uint8Array, string, number, number]>('saml_key', [
  'generation',
  'sealed_private',
  'certificate',
  'signs_from',
  'created_at',
])
const remove = query<[generation: number], unknown>('DELETE FROM saml_key WHERE generation = ?')

const sealContext = (generation: number) => ({
  table: 'saml_key',
  row: String(generation),
  column: 'sealed_private',
})

/** Lists the keys, the newest first. */
export async function listSpKeys(db: Database): Promise<readonly KeptSpKey[]> {
  return (await db.all(all, [])).map(({ generation, certificate, signs_from, created_at }) => ({
    generation,
    certificate,
    signsFrom: signs_from,
    createdAt: created_at,
  }))
}

/** Decrypts the PKCS#8 of a key; undefined when it has been deleted. The caller must wipe the bytes. */
export async function openSpKey(db: Database, seal: Seal, generation: number): Promise<Buffer | undefined> {
  const row = await db.get(selectSealed, [generation])
  return row && Buffer.from(await seal.open(sealContext(generation), row.sealed_private))
}

/** Fails with UniqueViolation when another node stored this generation first. */
export function spKeyInsertion(seal: Seal, key: KeptSpKey, pkcs8: Uint8Array): Change {
  const sealed = seal.seal(sealContext(key.generation), pkcs8)
  return change(insert, [key.generation, sealed, key.certificate, key.signsFrom, key.createdAt])
}

export function spKeyRemoval(generation: number): Change {
  return change(remove, [generation])
}
