import { randomBytes } from 'node:crypto'
import { type SplitKeyMethod, splitSecret } from '@warder/crypto'
import {
  activateByShares,
  asObjectId,
  beginCeremony,
  buildNewObject,
  findCeremony,
  findLinkTarget,
  type ManagedObject,
  type NewObject,
  newObjectId,
  noRules,
  readStoredWithTag,
  readVendorName,
  requireNoApproval,
  type Share,
  stateAt,
  transition,
  type UnitOfWork,
} from '@warder/keys'
import { findMember, Tag, type TtlvNode } from '@warder/kmip-codec'
import type { Principal } from '@warder/server'
import { waitsForDestruction } from '../../engine/approval.ts'
import type { KmipServices } from '../../engine/services.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { toStoredColumns } from '../../key-blocks/object-shape.ts'
import { readManagedObject } from '../../key-blocks/read-object.ts'
import { link } from './replacement.ts'
import { partNode, readPart } from './split-key-parts.ts'

/**
 * The vendor attribute that marks a symmetric key whose shares activate crypto officers. Clients of another server
 * write its name with their prefixes, in 1.x as `x-cosmian-crypto-officer-ceremony`.
 */
const ceremonyAttribute = /^(x-)?(cosmian-)?crypto-officer-ceremony$/

export function isCeremonyKey(object: ManagedObject): boolean {
  return readStoredWithTag(object, Tag.Attribute).some(
    (node) => ceremonyAttribute.test(readVendorName(node)?.name ?? '') && isTrue(node),
  )
}

function isTrue(node: TtlvNode): boolean {
  const value = node.type === 'Structure' ? findMember(node, Tag.AttributeValue)?.value : undefined
  return value === true || value === 1 || value === 'true'
}

/** Context needed to stage a new ceremony. */
export interface CeremonyContext {
  readonly services: Pick<KmipServices, 'db' | 'seal' | 'roles' | 'policy' | 'clock'>
  readonly principal: Pick<Principal, 'name' | 'method'>
  readonly objects: UnitOfWork
  readonly now: number
}

const ceremonyKeyBytes = 32

/**
 * Stages a ceremony whose key is generated here and stored only in its shares, one for each officer.
 * @param everybody true: the shares of all officers are required; false: those of a quorum
 */
export async function stageFreshCeremony(context: CeremonyContext, everybody: boolean): Promise<string> {
  const { services, principal, objects, now } = context
  const { listed, quorum } = services.roles.officers
  const base = { id: newObjectId(now) }
  const owners = [...listed]
  const method = everybody ? 'XOR' : 'PolynomialSharingGF28'
  const threshold = everybody ? owners.length : quorum
  const key = randomBytes(ceremonyKeyBytes)
  try {
    const split = splitSecret(key, { method, parts: owners.length, threshold, primeFieldSize: undefined })
    const description = {
      method,
      parts: owners.length,
      threshold,
      primeFieldSize: split.primeFieldSize,
      algorithm: 'AES',
      bits: ceremonyKeyBytes * 8,
    } as const
    for (const part of split.parts) {
      const { fips } = services.policy
      const stored = await readManagedObject('SplitKey', partNode(description, part), {}, { fips })
      const share = buildNewObject(
        { rules: noRules, now, services, principal },
        {
          type: 'SplitKey',
          ...toStoredColumns(stored),
          attributes: [link('ParentLink', base.id)],
          material: stored.material,
        },
      )
      stageShare({ base, owners }, share, part.identifier, objects)
      stored.material?.fill(0)
      part.bytes.fill(0)
    }
    objects.also(
      await beginCeremony(ceremonyServices(services), { id: base.id, key, threshold, by: principal }, now),
    )
    return base.id
  } finally {
    key.fill(0)
  }
}

/** The split of a ceremony key: one share for each officer, regardless of the request. */
export interface CeremonySplit {
  readonly base: ManagedObject
  readonly owners: readonly string[]
  readonly threshold: number
}

/** Was the key generated here, never active and never returned (KMIP 2.1 §4.24)? Then it cannot protect any data. */
function protectsNothing(base: ManagedObject): boolean {
  const wasGiven = readStoredWithTag(base, Tag.Fresh).some(({ value }) => value === false)
  const isOwn = readStoredWithTag(base, Tag.RandomNumberGenerator).length > 0
  return base.state === 'PreActive' && base.activationAt === undefined && isOwn && !wasGiven
}

/**
 * Splitting destroys the key. A key that may protect data is not split if its destruction is delayed or requires
 * approvals.
 * @throws PermissionDenied, InvalidField, WrongKeyLifecycleState
 */
export async function ceremonySplit(
  base: ManagedObject,
  method: SplitKeyMethod,
  context: KmipContext,
): Promise<CeremonySplit> {
  const { officers } = context.services.roles
  if (!officers.listed.has(context.principal.name) || base.owner !== context.principal.name)
    throw kmipFailure('PermissionDenied', 'DENIED')
  if (!officers.requireCeremony)
    throw kmipFailure('InvalidField', 'The settings name the officers: ceremonies are disabled.')
  if (base.type !== 'SymmetricKey') throw kmipFailure('InvalidField', 'A ceremony requires a symmetric key.')
  if (asObjectId(shareId(base.id, officers.listed.size)) === undefined)
    throw kmipFailure('InvalidField', 'The identifier of the key is too long for those of its shares.')
  if (!protectsNothing(base)) {
    await requireNoApproval(context.services.roles, 'destroy', [base])
    if (await waitsForDestruction(context, base))
      throw kmipFailure(
        'PermissionDenied',
        'The destruction of this key would be delayed: it cannot be split for a ceremony.',
      )
  }
  const owners = [...officers.listed]
  return { base, owners, threshold: method === 'XOR' ? owners.length : officers.quorum }
}

/** Stages a share that belongs to its officer. */
export function stageShare(
  { base, owners }: Pick<CeremonySplit, 'owners'> & { readonly base: Pick<ManagedObject, 'id'> },
  share: NewObject,
  identifier: number,
  objects: UnitOfWork,
) {
  const id = asObjectId(shareId(base.id, identifier))
  const owner = owners[identifier - 1]
  if (id === undefined || owner === undefined)
    throw kmipFailure('GeneralFailure', 'The share has no officer.')
  const tags = [`split-key-of:${base.id}`, `split-key-part:${identifier}`, `split-key-total:${owners.length}`]
  const made = objects.create({ ...share, object: { ...share.object, id }, tags: [...share.tags, ...tags] })
  objects.entrust(made, owner)
  return made
}

function shareId(base: string, identifier: number): string {
  return `${base}#${identifier}`
}

/** Stages the end of the key, which becomes compromised and destroyed, and the record of the ceremony. */
export async function stageCeremony(
  { base, threshold }: CeremonySplit,
  key: Uint8Array,
  context: KmipContext,
): Promise<void> {
  const { objects, now, services, principal } = context
  const state = stateAt(base, now)
  const compromised =
    state === 'Compromised' ? { ...base, state } : transition({ ...base, state }, 'compromise', now)
  const gone = transition(compromised, 'destroy', now)
  objects.update(
    base,
    {
      state: gone.state,
      compromisedAt: gone.compromisedAt,
      destroyedAt: gone.destroyedAt,
      revocationReason: 'KeyCompromise',
      revocationMessage: 'split among the crypto officers',
    },
    null,
  )
  const ceremony = { id: base.id, key, threshold, by: principal }
  objects.also(await beginCeremony(ceremonyServices(services), ceremony, now))
}

function ceremonyServices({ db, seal, roles }: CeremonyContext['services']) {
  return { db, seal, ...roles }
}

/**
 * Reads a share for the ceremony. The caller wipes `part.bytes`.
 * @throws KmipFailure for an object that is not a SplitKey with its value, or is destroyed
 */
export async function readShare(object: ManagedObject, objects: UnitOfWork, now: number): Promise<Share> {
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('ObjectDestroyed', 'DENIED')
  const { method, threshold, primeFieldSize, bits, part } = await readPart(object, { objects })
  const length = bits === undefined ? undefined : Math.ceil(bits / 8)
  const source = findLinkTarget(object, 'ParentLink')
  return { owner: object.owner, source, method, threshold, primeFieldSize, length, part }
}

/** Whether a part belongs to a key that was split for a ceremony. */
export async function isShare(
  part: ManagedObject,
  { services: { db, seal } }: KmipContext,
): Promise<boolean> {
  const source = findLinkTarget(part, 'ParentLink')
  return source !== undefined && (await findCeremony(db, seal, source)) !== undefined
}

/** Joining shares of a ceremony activates the caller. @throws failure('forbidden') */
export async function stageActivation(parts: readonly ManagedObject[], context: KmipContext): Promise<void> {
  const { services, principal, objects, now } = context
  const shares = await Promise.all(parts.map((part) => readShare(part, objects, now)))
  try {
    const { activation, changes } = await activateByShares(ceremonyServices(services), principal, shares, now)
    objects.also(...changes)
    context.audit({ details: { activated: principal.name, ceremony: activation.ceremony } })
  } finally {
    for (const { part } of shares) part.bytes.fill(0)
  }
}
