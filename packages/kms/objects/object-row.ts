import { insertInto, query } from '@warder/foundation/sql'
import type { ManagedObject, ObjectType } from './managed-object.ts'
import type { ObjectId } from './object-id.ts'
import type { State } from './state-machine.ts'

/** A row of `managed_object` without its material. */
export interface ObjectRow {
  readonly id: string
  readonly object_type: string
  readonly algorithm: string | null
  readonly bits: number | null
  readonly curve: string | null
  readonly bound_alg: string | null
  readonly state: string
  readonly owner: string
  readonly usage_mask: number
  readonly linked_id: string | null
  readonly created_at: number
  readonly changed_at: number
  readonly activation_at: number | null
  readonly deactivation_at: number | null
  readonly compromised_at: number | null
  readonly destroyed_at: number | null
  readonly revocation_reason: string | null
  readonly revocation_message: string | null
  readonly attributes: string
  readonly version: number
}

const columnNames = [
  'id',
  'object_type',
  'algorithm',
  'bits',
  'curve',
  'bound_alg',
  'state',
  'owner',
  'usage_mask',
  'linked_id',
  'created_at',
  'changed_at',
  'activation_at',
  'deactivation_at',
  'compromised_at',
  'destroyed_at',
  'revocation_reason',
  'revocation_message',
  'attributes',
  'version',
] as const

/** For SELECT lists. */
export const objectColumns = columnNames.join(', ')

type Text = string | null
type Int = number | null
export type ObjectParameters = [
  id: string,
  type: string,
  algorithm: Text,
  bits: Int,
  curve: Text,
  boundAlg: Text,
  state: string,
  owner: string,
  usageMask: number,
  linkedId: Text,
  createdAt: number,
  changedAt: number,
  activationAt: Int,
  deactivationAt: Int,
  compromisedAt: Int,
  destroyedAt: Int,
  reason: Text,
  message: Text,
  attributes: string,
  version: number,
  material: Uint8Array | null,
]

export const insertObject = insertInto<ObjectParameters>('managed_object', [...columnNames, 'material'])

export const updateLifeCycle = query<
  [
    state: string,
    activationAt: Int,
    deactivationAt: Int,
    compromisedAt: Int,
    destroyedAt: Int,
    reason: Text,
    message: Text,
    now: number,
    id: string,
    version: number,
  ],
  unknown
>(
  `UPDATE managed_object SET state = ?, activation_at = ?, deactivation_at = ?, compromised_at = ?, destroyed_at = ?,
     revocation_reason = ?, revocation_message = ?, changed_at = ?, version = version + 1
     WHERE id = ? AND version = ?`,
)

export type UpdateParameters = [
  algorithm: Text,
  bits: Int,
  curve: Text,
  boundAlg: Text,
  state: string,
  usageMask: number,
  linkedId: Text,
  activationAt: Int,
  deactivationAt: Int,
  compromisedAt: Int,
  destroyedAt: Int,
  reason: Text,
  message: Text,
  attributes: string,
  now: number,
  id: string,
  version: number,
]

/** Everything of a row that may change; type, owner and time of creation stay. */
export const updateObject = query<UpdateParameters, unknown>(
  `UPDATE managed_object SET algorithm = ?, bits = ?, curve = ?, bound_alg = ?, state = ?, usage_mask = ?,
     linked_id = ?, activation_at = ?, deactivation_at = ?, compromised_at = ?, destroyed_at = ?,
     revocation_reason = ?, revocation_message = ?, attributes = ?, changed_at = ?, version = version + 1
     WHERE id = ? AND version = ?`,
)

/** @param version the version that was read: the guard */
export function toUpdate(object: ManagedObject, now: number, version: number): UpdateParameters {
  return [
    object.algorithm ?? null,
    object.bits ?? null,
    object.curve ?? null,
    object.boundAlg ?? null,
    object.state,
    object.usageMask,
    object.linkedId ?? null,
    object.activationAt ?? null,
    object.deactivationAt ?? null,
    object.compromisedAt ?? null,
    object.destroyedAt ?? null,
    object.revocationReason ?? null,
    object.revocationMessage ?? null,
    JSON.stringify(object.attributes),
    now,
    object.id,
    version,
  ]
}

export function toParameters(object: ManagedObject, sealed: Uint8Array | undefined): ObjectParameters {
  return [
    object.id,
    object.type,
    object.algorithm ?? null,
    object.bits ?? null,
    object.curve ?? null,
    object.boundAlg ?? null,
    object.state,
    object.owner,
    object.usageMask,
    object.linkedId ?? null,
    object.createdAt,
    object.changedAt,
    object.activationAt ?? null,
    object.deactivationAt ?? null,
    object.compromisedAt ?? null,
    object.destroyedAt ?? null,
    object.revocationReason ?? null,
    object.revocationMessage ?? null,
    JSON.stringify(object.attributes),
    object.version,
    sealed ?? null,
  ]
}

export function toObject(row: ObjectRow): ManagedObject {
  return {
    id: row.id as ObjectId,
    type: row.object_type as ObjectType,
    algorithm: row.algorithm ?? undefined,
    bits: row.bits ?? undefined,
    curve: row.curve ?? undefined,
    boundAlg: row.bound_alg ?? undefined,
    state: row.state as State,
    owner: row.owner,
    usageMask: row.usage_mask,
    linkedId: (row.linked_id as ObjectId | null) ?? undefined,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    activationAt: row.activation_at ?? undefined,
    deactivationAt: row.deactivation_at ?? undefined,
    compromisedAt: row.compromised_at ?? undefined,
    destroyedAt: row.destroyed_at ?? undefined,
    revocationReason: row.revocation_reason ?? undefined,
    revocationMessage: row.revocation_message ?? undefined,
    attributes: JSON.parse(row.attributes) as Record<string, unknown>,
    version: row.version,
  }
}
