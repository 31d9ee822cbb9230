import { failure } from '@warder/base'
import {
  type CreationRules,
  type Key,
  type ManagedObject,
  mayCreate,
  noRules,
  openPermittedKey,
  type Right,
  readRules,
  requirePermittedObject,
  resolveIdentifier,
  type UnitOfWork,
  verdictOn,
  versionForm,
  versionNumber,
} from '@warder/keys'
import { findMember, type KmipVersion, type StructureNode, type TtlvNode } from '@warder/kmip-codec'
import { type AuditFields, mergeAuditFields, type Principal } from '@warder/server'
import { kmipFailure } from '../failure/failure.ts'
import type { Jobs } from './jobs.ts'
import type { Message } from './message.ts'
import type { KmipServices } from './services.ts'
import type { AuditedItems, KmipAccess, KmipContext } from './types.ts'

/** Maximum number of items in the data of all batch items of a message, the same as for bulk data. */
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

  get services(): KmipServices {
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
        `A message may contain at most ${maxDataItems} data items: send the others in another message.`,
      )
    dataItems.count = total
    this.#items = items
    this.audit({ details: { items: items.count } })
  }

  /** The item runs again and counts its data again. */
  forgetItems(): void {
    this.#message.dataItems.count -= this.#items?.count ?? 0
    this.#items = undefined
  }

  /** Checks the access rule of the row, and reads the object that it names. */
  async authorise(access: KmipAccess, payload: StructureNode): Promise<void> {
    if (access.kind === 'signed in') return
    if (access.kind === 'create') return this.requireCreate()
    const named = this.identifier(findMember(payload, access.member))
    const id = await resolveIdentifier(this, named)
    this.isVersionNamed = id !== named && versionForm(named) !== undefined
    this.audit(id === named ? { object: id } : { object: id, details: { alias: named } })
    const key = access.key ? await this.permittedKey(id, access.right) : undefined
    this.#keep(key?.object ?? (await this.permitted(id, access.right)), key)
    if (!access.creates) return
    await this.requireCreate()
    // The caller's rules do not apply to the replacement of another user's key.
    if (access.right === 'rekey' && this.object.owner !== this.principal.name) this.rules = noRules
  }

  #keep(object: ManagedObject, key: Key | undefined): void {
    this.#object = object
    this.#key = key
    if (object.algorithm !== undefined) this.#fields = { ...this.#fields, algorithm: object.algorithm }
  }

  permitted(id: string, right: Right): Promise<ManagedObject> {
    return requirePermittedObject(this, id, right)
  }

  permittedKey(id: string, right: Right): Promise<Key> {
    return openPermittedKey(this, id, right)
  }

  async holds(object: ManagedObject, right: Right): Promise<boolean> {
    const { db, roles } = this.services
    return (await verdictOn(db, roles, object, this.principal, right)) === 'allowed'
  }

  async requireCreate(): Promise<void> {
    const { db, roles } = this.services
    if (!(await mayCreate(db, roles, this.principal.name)))
      throw kmipFailure('PermissionDenied', 'The caller is not permitted to create objects.')
    this.rules = await readRules(db, this.principal.name)
  }

  identifier(node: TtlvNode | undefined): string {
    return this.#message.identifiers.resolve(node)
  }

  audit(fields: AuditFields): void {
    this.#fields = mergeAuditFields(this.#fields, fields)
  }
}
