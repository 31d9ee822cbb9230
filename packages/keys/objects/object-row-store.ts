import { insertInto, query, type SqlValue } from '@warder/storage'
import { ObjectAttributes } from '../attributes/object-attributes.ts'
import type { ManagedObject, MaterialForm, ObjectLink, ObjectName, UsageLimits } from './managed-object.ts'
import type { PendingDestruction } from './state-machine.ts'

/** How one member of an object is stored in its row. */
interface Column<Value> {
  readonly name: string
  /** true: set when the object is created, never changed. */
  readonly fixed: boolean
  write(value: Value): SqlValue
  read(stored: SqlValue): Value
}

/** A column with the unchanged member; NULL means undefined. */
function plain<Value>(name: string, fixed = false): Column<Value> {
  return {
    name,
    fixed,
    write: (value) => (value ?? null) as SqlValue,
    read: (stored) => (stored ?? undefined) as Value,
  }
}

function flag(name: string): Column<boolean> {
  return { name, fixed: false, write: Number, read: (stored) => stored === 1 }
}

/** Limits as text, `Byte 1000 250`: they exceed the safe integers of JavaScript. */
const usageLimits: Column<UsageLimits | undefined> = {
  name: 'usage_limits',
  fixed: false,
  write: (limits) => (limits === undefined ? null : `${limits.unit} ${limits.total} ${limits.left}`),
  read: (stored) => {
    if (typeof stored !== 'string') return undefined
    const [unit, total, left] = stored.split(' ') as [UsageLimits['unit'], string, string]
    return { unit, total: BigInt(total), left: BigInt(left) }
  },
}

const canonical: MaterialForm = Object.freeze({})

const form: Column<MaterialForm> = {
  name: 'form',
  fixed: false,
  write: (value) => JSON.stringify(value),
  read: (stored) => (stored === '{}' ? canonical : (JSON.parse(String(stored)) as MaterialForm)),
}

const destruction: Column<PendingDestruction | undefined> = {
  name: 'destruction',
  fixed: false,
  write: (value) => (value === undefined ? null : JSON.stringify(value)),
  read: (stored) => (typeof stored === 'string' ? (JSON.parse(stored) as PendingDestruction) : undefined),
}

/** Pairs of text as JSON, `[["CertificateLink","id"]]`; NULL if there are none. */
function pairs<Value>(
  name: string,
  toPair: (value: Value) => readonly [string, string],
  fromPair: (first: string, second: string) => Value,
): Column<readonly Value[]> {
  const none: readonly Value[] = Object.freeze([])
  return {
    name,
    fixed: false,
    write: (values) => (values.length === 0 ? null : JSON.stringify(values.map(toPair))),
    read: (stored) =>
      typeof stored === 'string'
        ? (JSON.parse(stored) as [string, string][]).map(([first, second]) => fromPair(first, second))
        : none,
  }
}

const names = pairs<ObjectName>(
  'names',
  ({ name, type }) => [name, type],
  (name, type) => ({ name, type }),
)
const links = pairs<ObjectLink>(
  'links',
  ({ kind, id }) => [kind, id],
  (kind, id) => ({ kind, id }),
)

const attributes: Column<ObjectAttributes> = {
  name: 'kmip',
  fixed: false,
  write: ({ text }) => (text === '' ? null : text),
  read: (stored) => (typeof stored === 'string' ? ObjectAttributes.stored(stored) : ObjectAttributes.none),
}

/** The columns of `managed_object` beside the material: the only mapping of members to columns. */
const columns: { readonly [Member in keyof ManagedObject]: Column<ManagedObject[Member]> } = {
  id: plain('id', true),
  type: plain('object_type', true),
  algorithm: plain('algorithm'),
  bits: plain('bits'),
  curve: plain('curve'),
  boundAlg: plain('bound_alg'),
  state: plain('state'),
  owner: plain('owner', true),
  usageMask: plain('usage_mask'),
  linkedId: plain('linked_id'),
  createdAt: plain('created_at', true),
  changedAt: plain('changed_at'),
  activationAt: plain('activation_at'),
  deactivationAt: plain('deactivation_at'),
  compromisedAt: plain('compromised_at'),
  destroyedAt: plain('destroyed_at'),
  revocationReason: plain('revocation_reason'),
  revocationMessage: plain('revocation_message'),
  processStartAt: plain('process_start_at'),
  protectStopAt: plain('protect_stop_at'),
  usageLimits,
  archivedAt: plain('archived_at'),
  disabledAt: plain('disabled_at'),
  destructionAt: plain('destruction_at'),
  destruction,
  extractable: flag('extractable'),
  sensitive: flag('sensitive'),
  neverExtractable: flag('never_extractable'),
  alwaysSensitive: flag('always_sensitive'),
  form,
  names,
  links,
  attributes,
  chainId: plain('chain_id'),
  generation: plain('generation'),
  newestId: plain('newest_id'),
  supersededAt: plain('superseded_at'),
  minGeneration: plain('min_generation'),
  rotateEvery: plain('rotate_every'),
  rotateAt: plain('rotate_at'),
  rotateOffset: plain('rotate_offset'),
  rotateAfter: plain('rotate_after'),
  // Written with the material alone: a change of other members must not undo a concurrent wrapping.
  wrappingKey: plain('wrapping_key_id', true),
  version: plain('version'),
}

/** The stored columns of names and links, for migrations. */
export const storedNames = names.write
export const storedLinks = links.write

/** A row of `managed_object` without its material, by the names of the columns. */
export type ObjectRow = Readonly<Record<string, SqlValue>> & { readonly id: string; readonly version: number }

const all = Object.entries(columns) as unknown as readonly (readonly [keyof ManagedObject, Column<unknown>])[]
const changing = all.filter(([, { fixed, name }]) => !fixed && name !== 'version')

/** For SELECT lists. */
export const objectColumns = all.map(([, { name }]) => name).join(', ')

export const insertObject = insertInto<readonly SqlValue[]>('managed_object', [
  ...all.map(([, { name }]) => name),
  'material',
])

/**
 * Parameters: see `toUpdate`. Guarded by the version that was read. A change resets the plan
 * (`rotation-plan-store.ts`).
 */
export const updateObject = query<readonly SqlValue[], unknown>(
  `UPDATE managed_object SET ${changing.map(([, { name }]) => `${name} = ?`).join(', ')}, version = version + 1, rotation_look_at = 0
     WHERE id = ? AND version = ?`,
)

/** @param version the version that was read: the guard */
export function toUpdate(object: ManagedObject, now: number, version: number): SqlValue[] {
  const changed = { ...object, changedAt: now }
  return [...changing.map(([member, column]) => column.write(changed[member])), object.id, version]
}

export function toParameters(object: ManagedObject, sealed: Uint8Array | undefined): SqlValue[] {
  return [...all.map(([member, column]) => column.write(object[member])), sealed ?? null]
}

export function toObject(row: ObjectRow): ManagedObject {
  const object: Partial<Record<keyof ManagedObject, unknown>> = {}
  for (const [member, column] of all) object[member] = column.read(row[column.name] ?? null)
  return object as unknown as ManagedObject
}
