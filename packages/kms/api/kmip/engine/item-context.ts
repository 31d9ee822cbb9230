import { failure } from '@warder/foundation/errors'
import { type AuditFields, mergedAuditFields, type Principal } from '@warder/foundation/operations'
import { andThen, type MaybePromise } from '@warder/foundation/promises'
import type { KmipVersion } from '@warder/kmip/tables'
import { memberOf, type StructureNode, type TtlvNode } from '@warder/kmip/ttlv'
import { materialRights, mayCreate, type Right, type Verdict, verdictOn } from '../../../access/index.ts'
import type { UnitOfWork } from '../../../keys/index.ts'
import { asObjectId, isArchived, type Key, type ManagedObject, type ObjectId } from '../../../keys/index.ts'
import type { KmsServices } from '../../../services.ts'
import { type CreationRules, noRules } from '../attributes/creation-rules.ts'
import { readRules } from '../attributes/creation-rules-store.ts'
import { kmipFailure } from '../failure/failure.ts'
import type { Jobs } from './jobs.ts'
import type { Message } from './message.ts'
import type { KmipAccess, KmipContext } from './types.ts'

/** Stands for what cannot be an identifier, which no database has to be asked for: PostgreSQL takes no NUL in text. */
const noObject = '00000000-0000-0000-0000-000000000000' as ObjectId

/** What one item is done with; see `KmipContext`. */
export class ItemContext implements KmipContext {
  readonly objects: UnitOfWork
  readonly now: number
  readonly #message: Message
  #object: ManagedObject | undefined
  #key: Key | undefined
  #fields: AuditFields | undefined
  rules: CreationRules = noRules

  constructor(message: Message, objects: UnitOfWork, now: number) {
    this.#message = message
    this.objects = objects
    this.now = now
  }

  get services(): KmsServices {
    return this.#message.options.services
  }

  get principal(): Principal {
    return this.#message.principal
  }

  get version(): KmipVersion {
    return this.#message.version
  }

  get object(): ManagedObject {
    if (this.#object === undefined) throw failure('internal_error', 'this row has no object')
    return this.#object
  }

  get key(): Key {
    if (this.#key === undefined) throw failure('internal_error', 'this row has no key')
    return this.#key
  }

  get jobs(): Jobs {
    return this.#message.jobs
  }

  get placeholder(): string | undefined {
    return this.#message.identifiers.placeholder
  }

  set placeholder(id: string | undefined) {
    this.#message.identifiers.placeholder = id
  }

  get fields(): AuditFields | undefined {
    return this.#fields
  }

  /** Lets the item pass or not, and reads what the row asks for. */
  authorise(access: KmipAccess, payload: StructureNode): MaybePromise<void> {
    if (access.kind === 'signed in') return undefined
    if (access.kind === 'create') return this.requireCreate()
    const id = this.identifier(memberOf(payload, access.member))
    this.audit({ object: id })
    const found = access.key ? this.#findKey(id, access.right) : this.#findObject(id, access.right)
    if (!access.creates) return found
    return andThen(found, () => this.requireCreate())
  }

  #findKey(id: string, right: Right): MaybePromise<void> {
    return andThen(this.permittedKey(id, right), (key) => this.#keep(key.object, key))
  }

  #findObject(id: string, right: Right): MaybePromise<void> {
    return andThen(this.permitted(id, right), (object) => this.#keep(object, undefined))
  }

  #keep(object: ManagedObject, key: Key | undefined): void {
    this.#object = object
    this.#key = key
    if (object.algorithm !== undefined) this.#fields = { ...this.#fields, algorithm: object.algorithm }
  }

  permitted(id: string, right: Right): MaybePromise<ManagedObject> {
    return andThen(this.objects.read(id), (object) => this.#judged(id, object, object, right))
  }

  permittedKey(id: string, right: Right): MaybePromise<Key> {
    return andThen(this.objects.key(id), (key) => this.#judged(id, key?.object, key, right))
  }

  /** What is unknown is looked up like what is not, so that both take the same time and read the same. */
  #judged<Found>(
    id: string,
    object: ManagedObject | undefined,
    found: Found | undefined,
    right: Right,
  ): MaybePromise<Found> {
    const { db, roles } = this.services
    const about = object ?? { id: asObjectId(id) ?? noObject, owner: '' }
    const verdict = verdictOn(db, roles, about, this.principal.name, right)
    return andThen(verdict, (now) => passed(now, object, found, right))
  }

  async requireCreate(): Promise<void> {
    const { db, roles } = this.services
    if (!(await mayCreate(db, roles, this.principal.name)))
      throw kmipFailure('PermissionDenied', 'The caller may not create objects.')
    this.rules = await readRules(db, this.principal.name)
  }

  identifier(node: TtlvNode | undefined): string {
    return this.#message.identifiers.resolve(node)
  }

  audit(fields: AuditFields): void {
    this.#fields = mergedAuditFields(this.#fields, fields)
  }
}

function passed<Found>(
  verdict: Verdict,
  object: ManagedObject | undefined,
  found: Found | undefined,
  right: Right,
): Found {
  if (object === undefined || found === undefined || verdict === 'nothing')
    throw kmipFailure('ObjectNotFound', 'DENIED')
  if (verdict !== 'allowed')
    throw kmipFailure('PermissionDenied', 'The caller has other rights on the object, not this one.')
  // Of what is destroyed the operation says that it is gone.
  if (isArchived(object) && materialRights.has(right))
    throw kmipFailure('ObjectArchived', 'The object is archived: recover it first.')
  return found
}
