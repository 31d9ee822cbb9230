import { findLinkTarget, type ManagedObject, type ObjectLink } from './managed-object.ts'
import { refusal } from './refusal.ts'
import { stateAt } from './state-machine.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { stageSuccession } from './version-rotate.ts'

/** Request that replaces an object. */
export interface ReplacingRequest {
  readonly services: {
    readonly roles: { readonly quota?: { hasRoom(owner: string): Promise<boolean> } | undefined }
  }
  readonly objects: UnitOfWork
  readonly principal: { readonly name: string }
  /** Unix milliseconds. */
  readonly now: number
}

/** @throws Refusal ObjectDestroyed, WrongKeyLifecycleState for an object that was replaced already */
export function requireReplaceable({ now }: Pick<ReplacingRequest, 'now'>, object: ManagedObject): void {
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised') throw refusal('ObjectDestroyed', 'DENIED')
  if (object.supersededAt !== undefined || findLinkTarget(object, 'ReplacementObjectLink') !== undefined)
    throw refusal('WrongKeyLifecycleState', 'The object was already replaced: replace the latest one.')
}

/** A replaced object becomes a version of the same key. Certificates have no versions: each has its own dates. */
export function hasVersions({ type }: Pick<ManagedObject, 'type'>): boolean {
  return type === 'SymmetricKey' || type === 'PrivateKey' || type === 'PublicKey'
}

/**
 * Links both objects, moves the names of the replaced one, and marks the latest, for a key by its versions. The
 * replacement belongs to the owner of the replaced object: a grantee of `rekey` renews a key but does not become its
 * owner.
 * @throws Refusal PermissionDenied if the quota of the owner is used up
 */
export async function linkReplacement(
  request: ReplacingRequest,
  replaced: ManagedObject,
  by: ManagedObject,
): Promise<void> {
  const { objects, now } = request
  await requireRoomOfOwner(request, replaced)
  objects.entrust(by, replaced.owner)
  const isVersion = hasVersions(replaced)
  const none = { RotateDate: undefined, RotateGeneration: undefined, RotateLatest: undefined }
  objects.update(replaced, {
    names: [],
    links: withLink(replaced.links, 'ReplacementObjectLink', by.id),
    attributes: replaced.attributes.with(isVersion ? none : { RotateLatest: false }),
  })
  const rotation = {
    RotateDate: now,
    RotateGeneration: (replaced.attributes.get('RotateGeneration') ?? 0) + 1,
    RotateLatest: true,
  }
  objects.update(by, {
    // The replacement is bound to the same algorithm as the key (over REST, or an HMAC key with its hash).
    boundAlg: replaced.boundAlg ?? by.boundAlg,
    links: withLink(by.links, 'ReplacedObjectLink', replaced.id),
    attributes: by.attributes.with(isVersion ? none : rotation),
  })
  if (isVersion) await stageSuccession(objects, replaced, by, now)
}

function withLink(links: readonly ObjectLink[], kind: string, id: string): readonly ObjectLink[] {
  return [...links, { kind, id }]
}

/** The replacement counts for the owner of the key, not for the caller. @throws Refusal PermissionDenied */
async function requireRoomOfOwner(
  { services, principal }: ReplacingRequest,
  { owner }: ManagedObject,
): Promise<void> {
  const { quota } = services.roles
  if (quota === undefined || owner === principal.name || (await quota.hasRoom(owner))) return
  throw refusal('PermissionDenied', 'The owner of the key has the maximum number of objects.')
}

/**
 * The public key of a pair, if it is stored here: by the pair itself, or by a link. Any client may set links to any
 * object, so only links to objects of the same owner are followed.
 * @returns its identifier, as the link names it
 */
export async function findLinkedHalf(
  { objects }: Pick<ReplacingRequest, 'objects'>,
  object: ManagedObject,
): Promise<string | undefined> {
  const linked = object.linkedId ?? findLinkTarget(object, 'PublicKeyLink')
  if (linked === undefined) return undefined
  const there = await objects.read(linked)
  return there?.type === 'PublicKey' && there.owner === object.owner ? linked : undefined
}
