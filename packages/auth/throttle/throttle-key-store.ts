import { randomBytes } from 'node:crypto'
import { change, type Database, insertInto, query, type Seal, UniqueViolation } from '@warder/storage'

const purpose = 'throttle'
const kid = 'throttle'
const sealContext = { table: 'signing_key', row: `${purpose}/${kid}`, column: 'sealed_private' }

const find = query<[purpose: string], { readonly sealed_private: Uint8Array }>(
  'SELECT sealed_private FROM signing_key WHERE purpose = ?',
)
const insert = insertInto<[string, string, string, Uint8Array, number]>('signing_key', [
  'purpose',
  'kid',
  'public_jwk',
  'sealed_private',
  'created_at',
])

/** Generates the key that assigns failure counters to slots: the same for all workers and nodes. */
export async function ensureThrottleKey(db: Database, seal: Seal, now: number): Promise<void> {
  if ((await db.get(find, [purpose])) !== undefined) return
  try {
    await db.commit([change(insert, [purpose, kid, '{}', seal.seal(sealContext, randomBytes(32)), now])])
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  }
}

/** Throws when there is none: `ensureThrottleKey` runs before. */
export async function openThrottleKey(db: Database, seal: Seal): Promise<Uint8Array> {
  const row = await db.get(find, [purpose])
  if (row === undefined) throw new Error('there is no key for the failure counters')
  return seal.open(sealContext, row.sealed_private)
}
