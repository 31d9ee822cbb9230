import { type Clock, type Failure, failure } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { Change, Commit, Database, Seal } from '@warder/storage'
import { type Hsms, hsmPrefix } from '../hsm/hsms.ts'
import { markForWrapping } from '../hsm/wrapping-store.ts'
import { attributeIndexChanges } from './attribute-index-store.ts'
import { ensureBudget, reserveBlock } from './gcm-budget-store.ts'
import { requireNotWrapping, wrapForRow } from './hsm-wrapping.ts'
import { Key, type KeyRing, openKey } from './key-ring.ts'
import { type ChosenId, getChainId, type ManagedObject, type NewObject } from './managed-object.ts'
import { addTagChanges, findTags, removeTags, tagsOfPair } from './name-link-tag-store.ts'
import { aliasPrefix, asObjectId, hasServiceForm, isChoosable, isNewId, type ObjectId } from './object-id.ts'
import {
  creationChanges,
  findObject,
  findWithMaterial,
  removalChanges,
  updateChanges,
} from './object-store.ts'
import { formerOwner, hasRoomToChoose, isKnownUnused } from './removed-id-store.ts'

export interface UnitOfWorkServices {
  readonly db: Database
  readonly seal: Seal
  readonly keys: KeyRing
  readonly clock: Clock
  readonly policy: AlgorithmPolicy
}

/** Members of an object that a change may touch: neither its identity nor its owner. */
export type ObjectChange = Partial<
  Omit<ManagedObject, 'id' | 'type' | 'owner' | 'createdAt' | 'changedAt' | 'version'>
>

interface Staged {
  /** As read; undefined = it is new. */
  readonly before: ManagedObject | undefined
  /** undefined = it is removed. */
  after: ManagedObject | undefined
  /** A copy of its own; undefined = as stored; null = removed. */
  material: Uint8Array | null | undefined
  /** undefined = as stored. */
  tags: readonly string[] | undefined
  /** The party that chose the identifier of a new object; undefined: the service. */
  readonly chosenId?: ChosenId | undefined
  /** AES-GCM encryptions with a key that has no budget in the database yet. */
  invocations: number
}

/**
 * Objects of one request, with the changes that it stages. The front end commits the staged changes: after each item,
 * or once for a whole batch that is undone when one item fails. An operation never commits by itself. Each object is
 * guarded by the version that was read first.
 */
export class UnitOfWork {
  readonly #services: UnitOfWorkServices
  readonly #now: number
  readonly #staged = new Map<string, Staged>()
  readonly #more: Change[] = []
  /** Tags of keys that were changed through one of their versions, whose row guards them. */
  readonly #keyTags = new Map<string, readonly string[]>()
  /** Identifiers of objects created since the last call of `requireFree`. */
  #unchecked: ObjectId[] = []
  /** Those of them that the client chose, with its name, since `requireChoosable` was asked last. */
  #chosen: (ChosenId & { readonly id: ObjectId })[] = []

  /** @param now Unix milliseconds, the moment of all its changes */
  constructor(services: UnitOfWorkServices, now: number) {
    this.#services = services
    this.#now = now
  }

  /** The object with this identifier, including staged changes. No rights are checked. */
  async read(id: string): Promise<ManagedObject | undefined> {
    const staged = this.#staged.get(id)
    if (staged !== undefined) return staged.after
    const known = asObjectId(id)
    return known === undefined ? undefined : findObject(this.#services.db, known)
  }

  /** The object with its key opened. No rights are checked. */
  async key(id: string): Promise<Key | undefined> {
    const staged = this.#staged.get(id)
    if (staged !== undefined) return this.#stagedKey(staged)
    const known = asObjectId(id)
    return known === undefined ? undefined : this.#services.keys.get(known)
  }

  /**
   * The material in clear: bytes of the caller's own, to be wiped after use. undefined: it has none (any more).
   * @throws failure('crypto_failure'), in KMIP KeyValueNotPresent, for a key in an HSM, whose material is not here
   */
  async material(object: Pick<ManagedObject, 'id' | 'form'>): Promise<Uint8Array | undefined> {
    const { hsm } = object.form
    if (hsm !== undefined)
      throw failure(
        'crypto_failure',
        `The key is in the HSM ${hsm.name}: its value is not on this server, and does not leave the HSM.`,
        { members: { result_reason: 'KeyValueNotPresent' } },
      )
    return this.#readMaterial(object.id)
  }

  async #readMaterial(id: ObjectId): Promise<Uint8Array | undefined> {
    const staged = this.#staged.get(id)
    if (staged?.material === null || (staged !== undefined && staged.after === undefined)) return undefined
    if (staged?.material !== undefined) return Uint8Array.from(staged.material)
    const { db, seal, keys } = this.#services
    const found = await findWithMaterial(db, seal, id, keys.hsms)
    return found?.material
  }

  /**
   * Stages a new object. The material is copied: the caller wipes its own.
   * @throws failure('conflict') for the identifier of an object that this unit has read to change it, or made;
   *   failure('bad_request') for one that could be taken for an alias
   */
  create({ object, material, tags, chosenId: said }: NewObject): ManagedObject {
    if (!isChoosable(object.id))
      throw failure(
        'bad_request',
        `An identifier must not begin with \`${aliasPrefix}\`, the prefix of aliases.`,
      )
    requireHsmForm(object)
    const staged = this.#staged.get(object.id)
    // An object made and removed by this unit leaves no trace, also of its identifier.
    if (staged?.before !== undefined || staged?.after !== undefined) throw identifierTaken()
    const whole: ManagedObject = { ...object, changedAt: this.#now, version: 0 }
    const chosenId =
      said ?? (isNewId(object.id, this.#now) ? undefined : { by: object.owner, isMoved: false })
    if (chosenId !== undefined) this.#chosen.push({ id: object.id, ...chosenId })
    this.#staged.set(object.id, {
      before: undefined,
      after: whole,
      material: material === undefined ? null : Uint8Array.from(material),
      tags,
      chosenId,
      invocations: 0,
    })
    this.#unchecked.push(object.id)
    return whole
  }

  /**
   * Checks in the database that the identifiers of objects created since the last call are free. The front end calls it
   * after each item of a batch that is committed as a whole, so that the right item fails; the commit checks again.
   * @throws failure('conflict')
   */
  async requireFree(): Promise<void> {
    await this.requireChoosable()
    const ids = this.#unchecked
    this.#unchecked = []
    for (const id of ids) if ((await findObject(this.#services.db, id)) !== undefined) throw identifierTaken()
  }

  /**
   * Checks that clients may use the identifiers that they chose since the last call; the commit checks again. The
   * identifier of a removed object stays reserved for its former owner, because other users may still refer to it
   * (docs/adr/identifiers-and-aliases.md).
   * @throws failure('conflict') for that of another owner's removed object; failure('bad_request') for one in the form
   *   of the service
   */
  async requireChoosable(): Promise<void> {
    const chosen = this.#chosen
    this.#chosen = []
    const { db } = this.#services
    for (const { id, by, isMoved } of chosen) {
      const former = await formerOwner(db, id)
      if (former === by) continue
      if (former !== undefined)
        throw failure('conflict', 'This identifier of a removed object is reserved for its former owner.')
      if (!hasServiceForm(id)) {
        await requireRoomToChoose(db, by)
        continue
      }
      if ((await findObject(db, id)) !== undefined) throw identifierTaken()
      if (!(isMoved && (await isKnownUnused(db, id, this.#now))))
        throw failure(
          'bad_request',
          'UUIDs of version 7 are reserved for the service: omit the identifier, or choose another form.',
        )
    }
  }

  /**
   * Stages a change of an object that was read through this unit: the members of `changed` replace its members.
   * @param material new material (copied), or null to remove it permanently
   */
  update(object: ManagedObject, changed: ObjectChange, material?: Uint8Array | null): ManagedObject {
    const staged = this.#staged.get(object.id)
    const after: ManagedObject = { ...(staged?.after ?? object), ...changed, changedAt: this.#now }
    const copy = material == null ? material : Uint8Array.from(material)
    if (staged === undefined) {
      this.#staged.set(object.id, { before: object, after, material: copy, tags: undefined, invocations: 0 })
      return after
    }
    staged.after = after
    if (copy !== undefined) {
      staged.material?.fill(0)
      staged.material = copy
    }
    return after
  }

  /** Gives a new object of this unit to another owner than the caller. */
  entrust({ id }: { readonly id: string }, owner: string): void {
    const staged = this.#staged.get(id)
    if (staged?.before !== undefined || staged?.after === undefined)
      throw new TypeError('only new objects can be created for another owner')
    staged.after = { ...staged.after, owner }
  }

  /**
   * Counts an AES-GCM encryption with a key that becomes an AES key in this unit: its budget is written together with
   * it, because the row under its identifier in the database may belong to another user's key. A message has far fewer
   * items than a key has invocations.
   * @returns false: nothing was counted, because the budget of the key is in the database
   */
  counted({ id }: Pick<ManagedObject, 'id'>): boolean {
    const staged = this.#staged.get(id)
    if (staged === undefined || staged.before?.algorithm === 'AES') return false
    staged.invocations++
    return true
  }

  /** The tags of an object, including staged changes; those of a version are its key's. */
  async tags(object: Pick<ManagedObject, 'id' | 'chainId'>): Promise<readonly string[]> {
    const id = getChainId(object)
    return this.#keyTags.get(id) ?? this.#staged.get(id)?.tags ?? findTags(this.#services.db, id)
  }

  /** Stages that an object has these tags and no others: of a version, that its key has them. */
  retag(object: ManagedObject, tags: readonly string[]): void {
    this.update(object, {})
    if (getChainId(object) !== object.id) {
      this.#keyTags.set(getChainId(object), tags)
      return
    }
    this.#keyTags.delete(object.id)
    const staged = this.#staged.get(object.id)
    if (staged !== undefined) staged.tags = tags
  }

  /** Stages that an object and all that belongs to it goes away, without a trace. */
  remove(object: ManagedObject): void {
    const staged = this.#staged.get(object.id)
    staged?.material?.fill(0)
    const before = staged === undefined ? object : staged.before
    this.#staged.set(object.id, { before, after: undefined, material: null, tags: [], invocations: 0 })
  }

  /** HSMs that have keys. */
  get hsms(): Hsms | undefined {
    return this.#services.keys.hsms
  }

  /** The database, for rows that are written before the unit is committed. */
  get db(): Database {
    return this.#services.db
  }

  /** A change of rows that belong to no object. */
  also(...changes: readonly Change[]): void {
    this.#more.push(...changes)
  }

  /** Objects as they will be, for searches that must include uncommitted changes. */
  staged(): readonly ManagedObject[] {
    return [...this.#staged.values()].flatMap(({ after }) => (after === undefined ? [] : [after]))
  }

  /** Identifiers of objects that will be removed. */
  removed(): readonly string[] {
    return [...this.#staged].flatMap(([id, { after }]) => (after === undefined ? [id] : []))
  }

  /** true: there is nothing to commit. */
  get empty(): boolean {
    return this.#staged.size === 0 && this.#more.length === 0
  }

  /**
   * Everything that is staged as one commit, new material wrapped as the settings require. Called by the front end, which
   * commits, before it records a success.
   * @throws Failure 409 for the end of a key that wraps material; 422, 503 if the HSM cannot wrap
   */
  async changes(): Promise<Change[]> {
    const tags = [...this.#keyTags].flatMap(([id, all]) => [
      removeTags(id),
      ...addTagChanges(id, all),
      markForWrapping(id),
    ])
    // New objects come last: if two successors are made at once, the later one fails by a guard.
    const staged = [...this.#staged.values()]
    const made = staged.filter(({ before }) => before === undefined)
    const known = staged.filter(({ before }) => before !== undefined)
    const objects: Change[] = []
    for (const one of [...known, ...made]) objects.push(...(await this.#changesOf(one)))
    return [...objects, ...tags, ...this.#more]
  }

  /** Commits all staged changes, then discards them and wipes their material, even if the commit fails. */
  async commit(commit: Commit): Promise<void> {
    try {
      if (!this.empty) await commit(await this.changes())
    } finally {
      this.clear()
    }
  }

  /** Discards staged changes and wipes their material. The front end, which commits, always calls it afterwards. */
  clear(): void {
    for (const { material } of this.#staged.values()) material?.fill(0)
    this.#staged.clear()
    this.#keyTags.clear()
    this.#more.length = 0
    this.#unchecked = []
    this.#chosen = []
  }

  async #changesOf(staged: Staged): Promise<Change[]> {
    const { db, seal } = this.#services
    const { before, tags, invocations, chosenId } = staged
    if (before !== undefined) await requireNotWrapping(db, [{ before, after: staged.after }])
    if (staged.after === undefined) return before === undefined ? [] : removalChanges(db, [before], this.#now)
    const { after, material } = await this.#wrap(staged.after, staged.material)
    if (before === undefined) {
      const created: NewObject = {
        object: after,
        material: material ?? undefined,
        tags: tags ?? [],
        invocations,
        ...(chosenId !== undefined && { chosenId }),
      }
      return [...creationChanges(db, seal, [created], this.#now), ...attributeIndexChanges(undefined, after)]
    }
    return [
      ...updateChanges(db, seal, { before, after, material }, this.#now),
      ...attributeIndexChanges(before, after),
      ...(invocations === 0 ? [] : [ensureBudget(after.id), reserveBlock(after.id, invocations)]),
      ...(tags === undefined
        ? []
        : [removeTags(after.id), ...addTagChanges(after.id, tags), markForWrapping(after.id)]),
    ]
  }

  /** The staged material as it is sealed: wrapped with a key in an HSM if a rule of the settings covers the object. */
  async #wrap(
    after: ManagedObject,
    material: Staged['material'],
  ): Promise<{ readonly after: ManagedObject; readonly material: Staged['material'] }> {
    if (material == null) return { after, material }
    const { db, keys } = this.#services
    const wrapped = await wrapForRow(
      { db, keys, now: this.#now },
      after,
      () => this.#tagsOfPair(after),
      material,
    )
    return {
      after: { ...after, wrappingKey: wrapped?.wrappingKey },
      material: wrapped?.material ?? material,
    }
  }

  /** Of both halves of a pair, including staged changes. */
  async #tagsOfPair(object: ManagedObject): Promise<readonly string[]> {
    const { linkedId } = object
    const linked = linkedId === undefined ? undefined : this.#staged.get(linkedId)?.after
    const others =
      linked === undefined ? await tagsOfPair(this.#services.db, object) : await this.tags(linked)
    return [...(await this.tags(object)), ...others]
  }

  async #stagedKey({ after }: Staged): Promise<Key | undefined> {
    if (after === undefined) return undefined
    const material = await this.#readMaterial(after.id)
    const { backend, hsms } = this.#services.keys
    try {
      return new Key(
        after,
        await openKey(after, material, backend, hsms),
        this.#services.clock,
        this.#services.policy,
      )
    } finally {
      material?.fill(0)
    }
  }
}

/** @throws failure('conflict') */
async function requireRoomToChoose(db: Database, owner: string): Promise<void> {
  if (await hasRoomToChoose(db, owner)) return
  throw failure(
    'conflict',
    'Too many identifiers of removed objects are reserved for you: choose one of them, or omit the identifier.',
  )
}

/** @throws failure('bad_request') for the identifier of a key in an HSM on another object */
function requireHsmForm({ id, type, form, linkedId }: NewObject['object']): void {
  if (!id.startsWith(hsmPrefix) || form.hsm !== undefined) return
  if (type === 'PublicKey' && linkedId?.startsWith(hsmPrefix) === true) return
  throw failure('bad_request', `Identifiers that begin with \`${hsmPrefix}\` are those of keys in an HSM.`)
}

/** The identifier that a new object is to have is that of another one. */
export function identifierTaken(): Failure {
  return failure('conflict', 'An object with this identifier exists already.')
}
