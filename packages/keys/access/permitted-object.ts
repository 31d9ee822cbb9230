import type { AuditFields, Caller } from '@warder/server'
import type { Key } from '../objects/key-ring.ts'
import type { ManagedObject } from '../objects/managed-object.ts'
import { aliasPrefix, asObjectId, type ObjectId } from '../objects/object-id.ts'
import { refusal, withheldRefusals } from '../objects/refusal.ts'
import { withheld } from '../objects/state-machine.ts'
import type { UnitOfWork } from '../objects/unit-of-work.ts'
import { findKeyVersion } from '../objects/version-store.ts'
import { isLaterVersion } from '../objects/version-use.ts'
import { resolveKid } from './aliases.ts'
import type { AccessServices } from './key-access.ts'
import { reservedSentence, type Verdict, verdictOn } from './permission.ts'
import { materialRights, type Right } from './right.ts'

/** `name@latest`, `name@first` or `name@N`: a version of a key, counted from 0 as generations are. */
interface VersionForm {
  readonly name: string
  readonly version: 'latest' | number
}

const form = /^(.+)@(latest|first|0|[1-9][0-9]{0,4})$/s

/** undefined: the text is no such form. */
export function versionForm(text: string): VersionForm | undefined {
  // Fast path: most identifiers have no `@`. In an alias it precedes the owner.
  if (!text.includes('@') || text.startsWith(aliasPrefix)) return undefined
  const [, name, version] = form.exec(text) ?? []
  if (name === undefined || version === undefined) return undefined
  return { name, version: version === 'latest' ? version : version === 'first' ? 0 : Number(version) }
}

/** A request that names objects. */
export interface Requester {
  readonly services: Pick<AccessServices, 'aliases' | 'db' | 'roles'>
  readonly principal: Caller
  /** Objects with the staged changes of the request. */
  readonly objects: UnitOfWork
  /** Adds to the audit record. Never secrets. */
  audit(fields: AuditFields): void
}

/** Replaces invalid identifiers, which must not reach the database: PostgreSQL rejects NUL in text. */
const noObject = '00000000-0000-0000-0000-000000000000' as ObjectId

/** Rights of operations that choose a version of the key that they name. */
const versionRights: ReadonlySet<Right> = new Set(['encrypt', 'decrypt', 'sign', 'signatureverify', 'mac'])

/**
 * Another object that the request names, if the requester has `right` on it.
 * @throws Refusal ObjectNotFound for unknown objects and those on which the requester has no right at all;
 *   PermissionDenied if the requester has other rights on it; ObjectArchived, WrongKeyLifecycleState if it is withheld
 */
export async function requirePermittedObject(
  requester: Requester,
  id: string,
  right: Right,
): Promise<ManagedObject> {
  const known = await resolveIdentifier(requester, id)
  const object = await requester.objects.read(known)
  return await judge(requester, known, object, object, right)
}

/** As `requirePermittedObject`, but loads the key. */
export async function openPermittedKey(requester: Requester, id: string, right: Right): Promise<Key> {
  const known = await resolveIdentifier(requester, id)
  const key = await requester.objects.key(known)
  return await judge(requester, known, key?.object, key, right)
}

/** Resolves an alias or a version; an invalid identifier is returned unchanged and will not be found. */
export async function resolveIdentifier(requester: Requester, id: string): Promise<string> {
  const form = versionForm(id)
  if (form === undefined) return await resolveAlias(requester, id)
  const own = await requester.objects.read(id)
  return own === undefined ? findVersion(requester, form) : chooseOwnOrVersion(requester, own, form)
}

/**
 * An object whose chosen identifier has this form takes precedence over a version. An object of another owner that is
 * newer than the key does not, so that no object can shadow a version (docs/adr/key-life-cycle-and-versions.md).
 */
async function chooseOwnOrVersion(
  requester: Requester,
  own: ManagedObject,
  form: VersionForm,
): Promise<string> {
  const key = await requester.objects.read(await resolveAlias(requester, form.name))
  const isSquatter = key !== undefined && key.owner !== own.owner && own.createdAt > key.createdAt
  return isSquatter ? findVersion(requester, form) : own.id
}

async function resolveAlias({ services, principal }: Requester, id: string): Promise<string> {
  return (await resolveKid(services, principal.name, id)) ?? id
}

/** A caller without rights on the key gets the reply for an unknown one: rights are checked on the resolved object. */
async function findVersion(requester: Requester, { name, version }: VersionForm): Promise<string> {
  const known = await resolveAlias(requester, name)
  const key = await requester.objects.read(known)
  if (key === undefined || isLaterVersion(key)) return `${name}@`
  if (version === 'latest') return key.newestId ?? key.id
  return (await findKeyVersion(requester.services.db, key, version))?.id ?? `${name}@`
}

/** An unknown object is handled like a forbidden one, so that both have the same timing and the same message. */
async function judge<Found>(
  requester: Requester,
  id: string,
  object: ManagedObject | undefined,
  found: Found | undefined,
  right: Right,
): Promise<Found> {
  const { db, roles } = requester.services
  const about = object ?? { id: asObjectId(id) ?? noObject, owner: '' }
  const audit = (fields: AuditFields) => requester.audit(fields)
  const verdict = await verdictOn(db, roles, about, requester.principal, right, audit)
  return requirePermitted(verdict, object, found, right)
}

function requirePermitted<Found>(
  verdict: Verdict,
  object: ManagedObject | undefined,
  found: Found | undefined,
  right: Right,
): Found {
  if (object === undefined || found === undefined || verdict === 'nothing')
    throw refusal('ObjectNotFound', 'DENIED')
  if (verdict === 'reserved') throw refusal('PermissionDenied', reservedSentence)
  if (verdict !== 'allowed')
    throw refusal('PermissionDenied', 'The caller has rights on the object, but not the required one.')
  // For destroyed objects the operation itself reports the destruction. A request that uses a key may name it by the id
  // of its first version. `mayUse` then checks whether the version that is used is withheld.
  const isKey = object.newestId !== undefined && versionRights.has(right)
  const kept = materialRights.has(right) && !isKey ? withheld(object) : undefined
  if (kept !== undefined) throw refusal(...withheldRefusals[kept])
  return found
}
