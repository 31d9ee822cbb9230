import { failure } from '@warder/base'
import type { Encryption } from '@warder/pkcs11'
import type { Database } from '@warder/storage'
import { hsmPrefix, type Wrapping, type WrappingRule } from '../hsm/hsms.ts'
import { type WrappingKey, wrapMaterial } from '../hsm/wrapped-material.ts'
import { countWrappedBy } from '../hsm/wrapping-store.ts'
import { createGcmBudgets, type GcmBudgets } from './gcm-budget.ts'
import type { Key, KeyRing } from './key-ring.ts'
import type { ManagedObject, ObjectType } from './managed-object.ts'
import { allows } from './may-use.ts'
import type { ObjectId } from './object-id.ts'
import { protectingVersion } from './version-use.ts'

// Which objects are wrapped with keys in HSMs, as the settings say, and with which keys. The service uses these keys by
// itself: callers need no right on them.

interface WrappingServices {
  readonly db: Database
  readonly keys: Pick<KeyRing, 'get' | 'hsms'>
  /** Unix milliseconds. */
  readonly now: number
}

/** Types without a secret in their material. */
const publicTypes: ReadonlySet<ObjectType> = new Set([
  'PublicKey',
  'Certificate',
  'CertificateRequest',
  'Template',
] as const)

/** Whether the material of an object is secret, and in the database. */
function isWrappable({ type, form }: Pick<ManagedObject, 'type' | 'form'>): boolean {
  return !publicTypes.has(type) && form.hsm === undefined
}

/** The first rule that covers an object; `readTags` is called only if a rule names tags. */
async function findRule(
  { rules }: Wrapping,
  object: Pick<ManagedObject, 'type' | 'form' | 'owner'>,
  readTags: () => Promise<readonly string[]>,
): Promise<WrappingRule | undefined> {
  if (rules.length === 0 || !isWrappable(object)) return undefined
  let known: readonly string[] | undefined
  for (const rule of rules) {
    if (rule.owners.length > 0 && !rule.owners.includes(object.owner)) continue
    if (rule.tags.length === 0) return rule
    known ??= await readTags()
    if (rule.tags.some((tag) => known?.includes(tag))) return rule
  }
  return undefined
}

/**
 * The version of a key that wraps what the settings say now.
 * @param id the key that the settings name
 * @throws failure('crypto_failure') if it does not exist, is no AES key of an HSM, or may not protect now
 */
async function findWrappingKey(keys: Pick<KeyRing, 'get'>, id: string): Promise<Key> {
  const named = id.startsWith(hsmPrefix) ? await keys.get(id as ObjectId) : undefined
  if (named === undefined) throw unusable(id, 'it does not exist')
  const key = await protectingVersion(keys, named)
  const { type, algorithm, form } = key.object
  if (type !== 'SymmetricKey' || algorithm !== 'AES' || form.hsm === undefined)
    throw unusable(id, 'it is not an AES key in an HSM')
  // Throws if its reference does not fit its row.
  if (key.held.shape.type !== 'secret') throw unusable(id, 'it is not an AES key in an HSM')
  if (listAlgorithms(key.object).length === 0)
    throw unusable(id, 'its usage mask permits neither encrypt and decrypt nor wrapKey and unwrapKey')
  return key
}

function unusable(id: string, why: string) {
  return failure('crypto_failure', `The wrapping key ${id} of the settings cannot be used: ${why}.`)
}

function listAlgorithms({ usageMask }: ManagedObject): readonly Encryption[] {
  return [
    ...(allows(usageMask, 'encrypt') && allows(usageMask, 'decrypt') ? (['A256GCM'] as const) : []),
    ...(allows(usageMask, 'wrapKey') && allows(usageMask, 'unwrapKey')
      ? (['A256KWP', 'A256KW'] as const)
      : []),
  ]
}

/** Wrapping keys are few. */
const maxBudgets = 64
const budgets = new WeakMap<Database, GcmBudgets>()

function getBudgets(db: Database): GcmBudgets {
  const known = budgets.get(db) ?? createGcmBudgets(db, maxBudgets)
  budgets.set(db, known)
  return known
}

/** Which version wraps an object according to the settings; undefined: none. @throws Failure, see `findWrappingKey` */
export async function findWrappingKeyFor(
  { keys }: Pick<WrappingServices, 'keys'>,
  object: Pick<ManagedObject, 'type' | 'form' | 'owner'>,
  readTags: () => Promise<readonly string[]>,
): Promise<Key | undefined> {
  if (keys.hsms === undefined) return undefined
  const rule = await findRule(keys.hsms.wrapping, object, readTags)
  return rule === undefined ? undefined : findWrappingKey(keys, rule.key)
}

/**
 * Wraps new material of an object, if a rule of the settings covers it: one operation of the HSM, which is recorded.
 * @param readTags tags of the object's key and of the other half of a pair
 * @param material in clear; the caller wipes it
 * @returns undefined: no rule covers the object
 * @throws Failure 422 for a wrapping key that cannot be used, 503 if the HSM cannot be used
 */
export async function wrapForRow(
  services: WrappingServices,
  object: Pick<ManagedObject, 'id' | 'type' | 'form' | 'owner'>,
  readTags: () => Promise<readonly string[]>,
  material: Uint8Array,
): Promise<{ readonly material: Uint8Array; readonly wrappingKey: ObjectId } | undefined> {
  const { db, keys } = services
  const key = await findWrappingKeyFor(services, object, readTags)
  const form = key?.object.form.hsm
  if (key === undefined || form === undefined || keys.hsms === undefined) return undefined
  const use = { operation: 'wrap', key: key.object.id, object: object.id } as const
  const { wrapping } = keys.hsms
  let wrapped: Buffer
  try {
    const now = key.mayUse(allows(key.object.usageMask, 'encrypt') ? 'encrypt' : 'wrapKey', services.now)
    if (!now.allowed) throw unusable(use.key, now.sentence)
    await getBudgets(db).take(key.object)
    const wrappingKey: WrappingKey = { id: use.key, hsm: form.name, label: form.label, keyId: form.id }
    const options = { object: object.id, algorithms: listAlgorithms(key.object) }
    wrapped = await wrapMaterial(keys.hsms, wrappingKey, options, material)
  } catch (error) {
    await wrapping.record({ ...use, error })
    throw error
  }
  await wrapping.record({ ...use, error: undefined })
  return { material: wrapped, wrappingKey: use.key }
}

/** A key before and after a change; after: undefined = it is removed. */
interface KeyChange {
  readonly before: ManagedObject
  readonly after:
    | Pick<ManagedObject, 'disabledAt' | 'destructionAt' | 'archivedAt' | 'destroyedAt'>
    | undefined
}

const endings = ['disabledAt', 'destructionAt', 'archivedAt', 'destroyedAt'] as const

/**
 * Refuses to end or withhold a key in an HSM that wraps the material of objects. Deactivation and compromise are allowed:
 * such a key still decrypts.
 * @throws failure('conflict')
 */
export async function requireNotWrapping(db: Database, changes: readonly KeyChange[]): Promise<void> {
  for (const { before, after } of changes) {
    if (before.type !== 'SymmetricKey' || before.form.hsm === undefined) continue
    const ends =
      after === undefined || endings.some((date) => before[date] === undefined && after[date] !== undefined)
    if (!ends) continue
    const objects = await countWrappedBy(db, before.id)
    if (objects > 0)
      throw failure(
        'conflict',
        `${before.id} wraps the material of ${objects} ${objects === 1 ? 'object' : 'objects'}, which could not be used without it: change hsm_wrapping or key_encryption_key, and wait until the objects are rewrapped (warder keys hsm wrapping).`,
      )
  }
}
