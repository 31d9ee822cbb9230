import { failure } from '@warder/foundation/errors'
import { type AuditFields, mergeAuditFields, type Principal } from '@warder/foundation/operations'
import { andThen, type MaybePromise } from '@warder/foundation/promises'
import type { KmipVersion } from '@warder/kmip/tables'
import { memberOf, type StructureNode, type TtlvNode } from '@warder/kmip/ttlv'
import {
  materialRights,
  mayCreate,
  officerAccess,
  type Right,
  reservedSentence,
  resolveKid,
  type Verdict,
  verdictOn,
} from '../../../access/index.ts'
import type { UnitOfWork } from '../../../keys/index.ts'
import {
  asObjectId,
  isLaterVersion,
  type Key,
  type ManagedObject,
  type ObjectId,
  versionNumber,
  versionOf,
  withheld,
} from '../../../keys/index.ts'
import type { KmsServices } from '../../../services.ts'
import { type CreationRules, noRules } from '../attributes/creation-rules.ts'
import { readRules } from '../attributes/creation-rules-store.ts'
import { kmipFailure } from '../failure/failure.ts'
import { withheldReasons } from '../failure/withheld-reasons.ts'
import type { Jobs } from './jobs.ts'
import type { Message } from './message.ts'
import type { AuditedItems, KmipAccess, KmipContext } from './types.ts'
import { type VersionForm, versionForm } from './version-form.ts'

/** Stands for what cannot be an identifier, which no database has to be asked for: PostgreSQL takes no NUL in text. */
const noObject = '00000000-0000-0000-0000-000000000000' as ObjectId

/** Rights of operations that choose a version of the key that they name. */
const versionRights: ReadonlySet<Right> = new Set(['encrypt', 'decrypt', 'sign', 'signatureverify', 'mac'])

/** Items that the data of all batch items of a message may hold: as many as bulk data alone. */
const maxDataItems = 10_000

/** Context of one item; see `KmipContext`. */
export class ItemContext implements KmipContext {
  readonly objects: UnitOfWork
  readonly now: number
  readonly #message: Message
  #object: ManagedObject | undefined
  #key: Key | undefined
  #fields: AuditFields | undefined
  #items: AuditedItems | undefined
  rules: CreationRules = noRules
  isVersionNamed = false

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

  use(version: Key): void {
    if (version === this.#key) return
    this.#keep(version.object, version)
    this.audit({ details: { version: versionNumber(version.object) } })
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

  get items(): AuditedItems | undefined {
    return this.#items
  }

  auditItems(items: AuditedItems): void {
    const { dataItems } = this.#message
    const total = dataItems.count - (this.#items?.count ?? 0) + items.count
    if (total > maxDataItems)
      throw kmipFailure(
        'ServerLimitExceeded',
        `The data of one message hold at most ${maxDataItems} items: send the others in another one.`,
      )
    dataItems.count = total
    this.#items = items
    this.audit({ details: { items: items.count } })
  }

  /** The item is run again, and counts its data again. */
  forgetItems(): void {
    this.#message.dataItems.count -= this.#items?.count ?? 0
    this.#items = undefined
  }

  /** Lets the item pass or not, and reads what the row asks for. */
  authorise(access: KmipAccess, payload: StructureNode): MaybePromise<void> {
    if (access.kind === 'signed in') return undefined
    if (access.kind === 'create') return this.requireCreate()
    const named = this.identifier(memberOf(payload, access.member))
    return andThen(this.#resolved(named), (id) => this.#authorised(access, named, id))
  }

  #authorised(
    access: Extract<KmipAccess, { readonly kind: 'object' }>,
    named: string,
    id: string,
  ): MaybePromise<void> {
    this.isVersionNamed = id !== named && versionForm(named) !== undefined
    this.audit(id === named ? { object: id } : { object: id, details: { alias: named } })
    const found = access.key ? this.#findKey(id, access.right) : this.#findObject(id, access.right)
    if (!access.creates) return found
    return andThen(found, async () => {
      await this.requireCreate()
      // What replaces a key of somebody else is not made by the rules of the caller.
      if (access.right === 'rekey' && this.object.owner !== this.principal.name) this.rules = noRules
    })
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
    return andThen(this.#resolved(id), (known) =>
      andThen(this.objects.read(known), (object) => this.#judged(known, object, object, right)),
    )
  }

  permittedKey(id: string, right: Right): MaybePromise<Key> {
    return andThen(this.#resolved(id), (known) =>
      andThen(this.objects.key(known), (key) => this.#judged(known, key?.object, key, right)),
    )
  }

  /** Resolves an identifier; one that no object can have stays as it is, and is not found. */
  #resolved(id: string): MaybePromise<string> {
    const form = versionForm(id)
    if (form === undefined) return this.#meant(id)
    return andThen(this.objects.read(id), (own) =>
      own === undefined ? this.#versionOf(form) : this.#ownOrVersion(own, form),
    )
  }

  /**
   * An object that a client called so is itself. One of somebody else that came after the key does not change what the text
   * means: nobody takes the place of a version by a name (docs/adr/key-life-cycle-and-versions.md).
   */
  async #ownOrVersion(own: ManagedObject, form: VersionForm): Promise<string> {
    const key = await this.objects.read(await this.#meant(form.name))
    const isSquatter = key !== undefined && key.owner !== own.owner && own.createdAt > key.createdAt
    return isSquatter ? this.#versionOf(form) : own.id
  }

  #meant(id: string): MaybePromise<string> {
    return andThen(resolveKid(this.services, this.principal.name, id), (known) => known ?? id)
  }

  /** Whoever may not know the key is told the same as of an unknown one: rights are asked of what is found. */
  async #versionOf({ name, version }: VersionForm): Promise<string> {
    const known = await this.#meant(name)
    const key = await this.objects.read(known)
    if (key === undefined || isLaterVersion(key)) return `${name}@`
    if (version === 'latest') return key.newestId ?? key.id
    return (await versionOf(this.services.db, key, version))?.id ?? `${name}@`
  }

  /** An unknown object is looked up like a forbidden one, so that both take the same time and read the same. */
  #judged<Found>(
    id: string,
    object: ManagedObject | undefined,
    found: Found | undefined,
    right: Right,
  ): MaybePromise<Found> {
    const { db, roles } = this.services
    const about = object ?? { id: asObjectId(id) ?? noObject, owner: '' }
    const asOfficer = () => this.audit(officerAccess)
    const verdict = verdictOn(db, roles, about, this.principal.name, right, asOfficer)
    return andThen(verdict, (now) => passed(now, object, found, right))
  }

  holds(object: ManagedObject, right: Right): MaybePromise<boolean> {
    const { db, roles } = this.services
    const verdict = verdictOn(db, roles, object, this.principal.name, right)
    return andThen(verdict, (now) => now === 'allowed')
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
    this.#fields = mergeAuditFields(this.#fields, fields)
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
  if (verdict === 'reserved') throw kmipFailure('PermissionDenied', reservedSentence)
  if (verdict !== 'allowed')
    throw kmipFailure('PermissionDenied', 'The caller has other rights on the object, not this one.')
  // Of what is destroyed the operation says that it is gone. The first id of a key with versions names the key when it is
  // used: whether the version that does the work is withheld is asked of that one (`mayUse`).
  const isKey = object.newestId !== undefined && versionRights.has(right)
  const kept = materialRights.has(right) && !isKey ? withheld(object) : undefined
  if (kept !== undefined) throw kmipFailure(...withheldReasons[kept])
  return found
}
