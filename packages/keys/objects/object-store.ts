import {
  type Change,
  change,
  type Database,
  query,
  readOne,
  type Seal,
  type SealContext,
} from '@warder/storage'
import { releaseHsmKey } from '../hsm/hsm-key-store.ts'
import type { Hsms } from '../hsm/hsms.ts'
import { unwrapMaterial } from '../hsm/wrapped-material.ts'
import { budgetLooks } from './budget-look-store.ts'
import { ensureBudget, openBudget, removeBudget } from './gcm-budget-store.ts'
import { removeUses } from './last-use-store.ts'
import { findLinkTarget, type ManagedObject, type NewObject, type ObjectUpdate } from './managed-object.ts'
import { addTagChanges, nameLinkChanges, removeNamesAndLinks, removeTags } from './name-link-tag-store.ts'
import type { ObjectId } from './object-id.ts'
import {
  insertObject,
  type ObjectRow,
  objectColumns,
  toObject,
  toParameters,
  toUpdate,
  updateObject,
} from './object-row-store.ts'
import { guardChosenId, reserveId } from './removed-id-store.ts'
import type { LifeCycle, Withholding } from './state-machine.ts'

/** Topic of `Database.changed` for rows of `managed_object`. */
export const objectTopic = 'managed_object'

const withMaterial = query<[id: string], ObjectRow & { readonly material: Uint8Array | null }>(
  `SELECT ${objectColumns}, material FROM managed_object WHERE id = ?`,
)
const byId = query<[id: string], ObjectRow>(`SELECT ${objectColumns} FROM managed_object WHERE id = ?`)
/** Read at each use of a cached key. */
export const objectVersion = query<[id: string], { readonly version: number }>(
  'SELECT version FROM managed_object WHERE id = ?',
)
const ownedPage = query<[owner: string, after: string, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE owner = ? AND generation = 0 AND id > ? ORDER BY id LIMIT ?`,
)
// Any user may put the tag on objects without a public half, so only a limited number of the newest is read.
const taggedPublic = query<[tag: string, looked: number, limit: number], { readonly id: string }>(
  `SELECT shares.id FROM (
     SELECT o.id, ROW_NUMBER() OVER (PARTITION BY o.owner ORDER BY o.id DESC) AS place
     FROM (SELECT object_id FROM object_tag WHERE tag = ? ORDER BY object_id DESC LIMIT ?) t
       JOIN managed_object o ON o.id = t.object_id
     WHERE (o.object_type = 'PublicKey' OR (o.object_type = 'PrivateKey' AND o.linked_id IS NULL))
       AND (o.chain_id IS NOT NULL OR
         (o.state IN ('Active', 'PreActive') AND o.disabled_at IS NULL AND o.destruction_at IS NULL))) shares
   ORDER BY shares.place, shares.id DESC LIMIT ?`,
)
/** Read in addition to the requested number. Each costs a microsecond or more, and callers are unauthenticated. */
const maxScanned = 2000
const deleteObject = query<[id: string, version: number], unknown>(
  'DELETE FROM managed_object WHERE id = ? AND version = ?',
)
const deleteAttributes = query<[id: string], unknown>('DELETE FROM object_attribute WHERE object_id = ?')
const setMaterial = query<[material: Uint8Array | null, wrappingKey: string | null, id: string], unknown>(
  'UPDATE managed_object SET material = ?, wrapping_key_id = ? WHERE id = ?',
)
const replaceWrapping = query<
  [material: Uint8Array, wrappingKey: string | null, id: string, version: number],
  unknown
>(
  'UPDATE managed_object SET material = ?, wrapping_key_id = ?, version = version + 1 WHERE id = ? AND version = ?',
)
const deleteGrants = query<[id: string], unknown>('DELETE FROM object_grant WHERE object_id = ?')
const deleteAliases = query<[id: string], unknown>('DELETE FROM key_alias WHERE key_id = ?')
const touch = query<[now: number, id: string, version: number], unknown>(
  'UPDATE managed_object SET changed_at = ?, version = version + 1, rotation_look_at = 0 WHERE id = ? AND version = ?',
)
const stay = query<[id: string], unknown>('UPDATE managed_object SET id = id WHERE id = ?')
const dueActivation = query<[now: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE state = 'PreActive' AND activation_at <= ?
     ORDER BY activation_at LIMIT ?`,
)
const dueDeactivation = query<[now: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE state = 'Active' AND deactivation_at <= ?
     ORDER BY deactivation_at LIMIT ?`,
)

const endingBetween = query<[from: number, to: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object
     WHERE state = 'Active' AND deactivation_at > ? AND deactivation_at <= ? ORDER BY deactivation_at, id LIMIT ?`,
)

const waitingObjects = query<[after: string, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE destruction_at IS NOT NULL AND id > ? ORDER BY id LIMIT ?`,
)
const anyWaiting = query<[], { readonly id: string }>(
  'SELECT id FROM managed_object WHERE destruction_at IS NOT NULL LIMIT 1',
)

/** A row that is changed must not turn wrapped material into clear material, or the reverse. */
function materialSealContext(id: string, wrappingKey: string | undefined): SealContext {
  const column = wrappingKey === undefined ? 'material' : 'wrapped_material'
  return { table: 'managed_object', row: id, column }
}

export async function findObject(db: Database, id: ObjectId): Promise<ManagedObject | undefined> {
  return readOne(db, byId, [id], toObject)
}

/**
 * The object and its decrypted material, which the caller wipes: the only function that decrypts material.
 * @param hsms unwrap the material that one of their keys wraps
 * @throws Failure 422, 503 if the HSM that wraps the material cannot be used
 */
export async function findWithMaterial(
  db: Database,
  seal: Seal,
  id: ObjectId,
  hsms: Hsms | undefined,
): Promise<{ readonly object: ManagedObject; readonly material: Uint8Array | undefined } | undefined> {
  const row = await db.get(withMaterial, [id])
  if (row === undefined) return undefined
  const object = toObject(row)
  if (row.material === null) return { object, material: undefined }
  const { wrappingKey } = object
  const opened = await seal.open(materialSealContext(id, wrappingKey), row.material)
  if (wrappingKey === undefined) return { object, material: opened }
  return { object, material: await unwrapRecorded(hsms, id, wrappingKey, opened) }
}

async function unwrapRecorded(
  hsms: Hsms | undefined,
  object: ObjectId,
  wrappingKey: ObjectId,
  wrapped: Uint8Array,
): Promise<Buffer> {
  const use = { operation: 'unwrap', key: wrappingKey, object } as const
  let material: Buffer
  try {
    material = await unwrapMaterial(hsms, { object, wrappingKey }, wrapped)
  } catch (error) {
    await hsms?.wrapping.record({ ...use, error })
    throw error
  }
  try {
    await hsms?.wrapping.record({ ...use, error: undefined })
    return material
  } catch (error) {
    material.fill(0)
    throw error
  }
}

/** Replaces the wrapping of an object's material, guarded by the version that was read. */
export function wrappingChanges(
  db: Database,
  seal: Seal,
  { id, version }: Pick<ManagedObject, 'id' | 'version'>,
  { material, wrappingKey }: { readonly material: Uint8Array; readonly wrappingKey: ObjectId | undefined },
): Change[] {
  const sealed = seal.seal(materialSealContext(id, wrappingKey), material)
  return [change(replaceWrapping, [sealed, wrappingKey ?? null, id, version], 1), db.changed(objectTopic, id)]
}

/** A page of the objects of `owner`, in the order of ids; a key with versions is listed once. */
export async function listOwnedObjects(
  db: Database,
  owner: string,
  after: string,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(ownedPage, [owner, after, limit])).map(toObject)
}

/**
 * Public keys, and private ones that were imported without their public half, among the newest objects with a tag: the
 * newest of each owner, then the second of each, so that the many keys of one owner do not displace those of others.
 * The caller has to check their dates.
 */
export async function publicKeysWithTag(
  db: Database,
  tag: string,
  limit: number,
): Promise<readonly ObjectId[]> {
  return (await db.all(taggedPublic, [tag, maxScanned + limit, limit])).map(({ id }) => id as ObjectId)
}

/**
 * Changes that create objects, the halves of a pair in one commit. An id that exists already makes the commit throw
 * UniqueViolation. The first version is the time in microseconds: an id that is used again continues above.
 */
export function creationChanges(
  db: Database,
  seal: Seal,
  created: readonly NewObject[],
  now: number,
): Change[] {
  return created.flatMap(({ object, material, tags, invocations, chosenId }) => {
    const whole: ManagedObject = { ...object, changedAt: now, version: now * 1000 }
    const context = materialSealContext(object.id, object.wrappingKey)
    const sealed = material === undefined ? undefined : seal.seal(context, material)
    return [
      change(insertObject, toParameters(whole, sealed), 1),
      ...(chosenId === undefined ? [] : [guardChosenId(object.id, chosenId)]),
      ...addTagChanges(object.id, tags),
      ...nameLinkChanges(undefined, whole),
      ...(object.algorithm === 'AES' ? [openBudget(object.id, invocations, object.chainId)] : []),
      db.changed(objectTopic, object.id),
    ]
  })
}

/** Writes the life cycle, guarded by the version that was read. */
export function lifeCycleChanges(
  db: Database,
  object: ManagedObject,
  cycle: LifeCycle,
  now: number,
  reason: { readonly code: string | undefined; readonly message: string | undefined } = {
    code: object.revocationReason,
    message: object.revocationMessage,
  },
): Change[] {
  const after: ManagedObject = {
    ...object,
    ...pickLifeCycle(cycle),
    revocationReason: reason.code,
    revocationMessage: reason.message,
  }
  return [change(updateObject, toUpdate(after, now, object.version), 1), db.changed(objectTopic, object.id)]
}

/** Writes the withholding of an object (disabled, pending destruction), guarded by the version that was read. */
export function withholdingChanges(
  db: Database,
  object: ManagedObject,
  changed: Partial<Withholding>,
  now: number,
): Change[] {
  const after = { ...object, ...changed }
  return [
    change(updateObject, toUpdate(after, now, object.version), 1),
    ...budgetLooks(object, after),
    db.changed(objectTopic, object.id),
  ]
}

/** Only the members of the life cycle, without the other members of the value. */
function pickLifeCycle({
  state,
  activationAt,
  deactivationAt,
  compromisedAt,
  destroyedAt,
}: LifeCycle): LifeCycle {
  return { state, activationAt, deactivationAt, compromisedAt, destroyedAt }
}

/** Writes the changes of an object, guarded by the version that was read. */
export function updateChanges(
  db: Database,
  seal: Seal,
  { before, after, material }: ObjectUpdate,
  now: number,
): Change[] {
  const { id, version } = before
  const context = materialSealContext(id, after.wrappingKey)
  const sealed = material == null ? material : seal.seal(context, material)
  const wrappingKey = (material === null ? undefined : after.wrappingKey) ?? null
  return [
    change(updateObject, toUpdate(after, now, version), 1),
    ...(sealed === undefined ? [] : [change(setMaterial, [sealed, wrappingKey, id], 1)]),
    ...(sealed === null || after.form.hsm === undefined ? releaseHsmKey(before, now) : []),
    ...nameLinkChanges(before, after),
    ...(after.algorithm === 'AES' && before.algorithm !== 'AES' ? [ensureBudget(id)] : []),
    ...budgetLooks(before, after),
    db.changed(objectTopic, id),
  ]
}

/** Raises the version of an object whose rights or tags changed, so that all readers see the change. */
export function touchChanges(db: Database, object: ManagedObject, now: number): Change[] {
  return [change(touch, [now, object.id, object.version], 1), db.changed(objectTopic, object.id)]
}

/** Makes a commit fail if the object was removed: for rows that refer to it. */
export function requirePresent(id: ObjectId): Change {
  return change(stay, [id], 1)
}

/** Removes objects and everything that belongs to them, in one commit; their identifiers stay reserved for their owners. */
export function removalChanges(db: Database, removed: readonly ManagedObject[], now: number): Change[] {
  return removed.flatMap(({ id, owner, version, form }) => [
    change(deleteObject, [id, version], 1),
    ...releaseHsmKey({ id, form }, now),
    reserveId(id, owner, now),
    removeTags(id),
    ...removeNamesAndLinks(id),
    change(deleteAttributes, [id]),
    change(deleteGrants, [id]),
    change(deleteAliases, [id]),
    removeBudget(id),
    removeUses(id),
    db.changed(objectTopic, id),
  ])
}

/** Objects whose stored state is outdated by their dates, at most `limit` of each kind. */
export async function overdueObjects(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly ManagedObject[]> {
  const rows = [
    ...(await db.all(dueActivation, [now, limit])),
    ...(await db.all(dueDeactivation, [now, limit])),
  ]
  return rows.map(toObject)
}

/** Active objects whose deactivation date is after `from` and not after `to`, in the order of these dates. */
export async function objectsEndingBetween(
  db: Database,
  { from, to, limit }: Readonly<Record<'from' | 'to' | 'limit', number>>,
): Promise<readonly ManagedObject[]> {
  return (await db.all(endingBetween, [from, to, limit])).map(toObject)
}

/** Whether the destruction of any object waits. */
export async function isAnyWaiting(db: Database): Promise<boolean> {
  return (await db.get(anyWaiting, [])) !== undefined
}

/** A page of the objects whose destruction is pending, in the order of ids. */
export async function objectsAwaitingDestruction(
  db: Database,
  after: string,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(waitingObjects, [after, limit])).map(toObject)
}

/** The other half of a pair, if it links back and has the same owner: a user can link to another user's object. */
export async function otherHalf(db: Database, object: ManagedObject): Promise<ManagedObject | undefined> {
  if (object.linkedId === undefined) return undefined
  const linked = await findObject(db, object.linkedId)
  return linked?.linkedId === object.id && linked.owner === object.owner ? linked : undefined
}

/** A key for users: the object and, for a pair, its other half. */
export async function wholeKey(db: Database, object: ManagedObject): Promise<readonly ManagedObject[]> {
  const linked = await otherHalf(db, object)
  return linked === undefined ? [object] : [object, linked]
}

/** The private key of a pair, by the pair or by a link. */
export function findPrivateKeyId(object: ManagedObject): string | undefined {
  return (
    findLinkTarget(object, 'PrivateKeyLink') ?? (object.type === 'PublicKey' ? object.linkedId : undefined)
  )
}

const withMaterialAfter = query<[after: string, most: number], { readonly id: string }>(
  'SELECT id FROM managed_object WHERE id > ? AND material IS NOT NULL ORDER BY id LIMIT ?',
)

/** Identifiers of objects with material, greater than `after`, in their order. */
export async function listIdsWithMaterial(
  db: Database,
  after: string,
  most: number,
): Promise<readonly string[]> {
  return (await db.all(withMaterialAfter, [after, most])).map(({ id }) => id)
}
