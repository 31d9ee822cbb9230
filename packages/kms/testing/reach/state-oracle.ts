import { acmeAccount } from './holders.ts'
import { formatValue, type Row, type Snapshot } from './snapshot.ts'
import type { Thing, World } from './world.ts'

// Judges what a request changed, by the rows of the database before and after.

/** A caller, and what its rights before the request permit. */
export interface Caller {
  readonly by: string
  readonly rights: (thing: Thing) => ReadonlySet<string>
  readonly allowed: (thing: Thing, ...any: readonly string[]) => boolean
}

/** Counts replies and changes of a kind. */
export type Count = (what: string) => void

/** Columns, and the effects of which one permits a change of them. */
const columns: Readonly<Record<string, readonly string[]>> = {
  owner: ['change owner'],
  material: ['end object'],
  usage_limits: ['change limits', 'change attributes'],
}
for (const name of ['state', 'activation_at', 'deactivation_at', 'process_start_at', 'protect_stop_at'])
  Object.assign(columns, { [name]: ['change state', 'end object'] })
for (const name of ['archived_at', 'disabled_at', 'destruction_at', 'destruction', 'compromised_at'])
  Object.assign(columns, { [name]: ['change state', 'end object'] })
for (const name of ['destroyed_at', 'revocation_reason', 'revocation_message'])
  Object.assign(columns, { [name]: ['change state', 'end object', 'end certificate'] })
for (const name of [
  'newest_id',
  'superseded_at',
  'chain_id',
  'generation',
  'links',
  'names',
  'min_generation',
])
  Object.assign(columns, { [name]: ['change versions', 'change attributes'] })
for (const name of ['rotate_every', 'rotate_at', 'rotate_after', 'rotate_offset'])
  Object.assign(columns, { [name]: ['change versions', 'change attributes'] })

/** Bookkeeping of the service. */
const ignored: ReadonlySet<string> = new Set([
  'version',
  'changed_at',
  'last_used_day',
  'rotation_look_at',
  'rotation_plan',
])

/** Members that a replacement made with `rekey` alone has as its key has them. */
const copied = [
  'owner',
  'usage_mask',
  'extractable',
  'sensitive',
  'algorithm',
  'bits',
  'bound_alg',
  'object_type',
]

/** Effects on one half of a pair that reach the other one. */
const pairEffects: ReadonlySet<string> = new Set(['change state', 'end object', 'change versions'])

/**
 * A column without what the service notes in it: Get and Export note that the object is no longer fresh (KMIP 2.1
 * §4.23), a replacement that another object is the latest one.
 */
function formatColumn(value: unknown, isReplaced = false): string {
  return formatValue(value).replaceAll(
    isReplaced ? /,?\{"tag":"(?:Fresh|RotateLatest)"[^}]*\}/g : /,?\{"tag":"Fresh"[^}]*\}/g,
    '',
  )
}

/** Both values from where they begin to differ. */
function formatChange(before: unknown, after: unknown): string {
  const [old, now] = [formatColumn(before), formatColumn(after)]
  let at = 0
  while (at < old.length && old[at] === now[at]) at += 1
  return [old, now].map((value) => value.slice(Math.max(0, at - 40), at + 60)).join(' -> ')
}

export class StateOracle {
  readonly #world: World
  readonly #count: Count
  readonly #byId = new Map<string, Thing>()

  constructor(world: World, count: Count) {
    this.#world = world
    this.#count = count
    for (const thing of world.things) for (const id of thing.ids) this.#byId.set(id, thing)
  }

  find(id: unknown): Thing | undefined {
    return this.#byId.get(String(id))
  }

  /** Changes beyond the rights of the caller. Versions are known afterwards as their keys are. */
  judge(before: Snapshot, after: Snapshot, caller: Caller): readonly string[] {
    const { violations, replaced } = this.#judgeObjects(before, after, caller)
    return [
      ...violations,
      ...this.#judgeNewObjects(before, after, caller, replaced),
      ...this.#judgeOwners(before, after),
      ...this.#judgeGrants(before, after, caller),
      ...this.#judgeTags(before, after, caller),
      ...this.#judgeDirectory(before, after, caller),
      ...judgeNames(before, after),
      ...this.#judgeIssued(before, after, caller),
    ]
  }

  /** The halves of a pair are disabled, restored, ended and rotated together. */
  #permits(allowed: Caller['allowed'], thing: Thing, ...any: readonly string[]): boolean {
    return (
      allowed(thing, ...any) ||
      this.#world.things.some(
        (half) =>
          half.family === thing.family &&
          [half, thing].every(({ kind }) => kind !== 'certificate') &&
          allowed(half, ...any.filter((effect) => pairEffects.has(effect))),
      )
    )
  }

  /** @returns also the rows of objects that may have been replaced */
  #judgeObjects(
    before: Snapshot,
    after: Snapshot,
    { allowed }: Caller,
  ): { readonly violations: readonly string[]; readonly replaced: readonly Row[] } {
    const violations: string[] = []
    const replaced: Row[] = []
    for (const [id, old] of before.objects) {
      const now = after.objects.get(id)
      const thing = this.find(id) ?? this.find(old.chain_id)
      if (thing === undefined) continue
      const permits = (...any: readonly string[]) => this.#permits(allowed, thing, ...any)
      if (now === undefined) {
        if (!permits('end object')) violations.push(`removed ${thing.name}`)
        continue
      }
      for (const name of Object.keys(old)) {
        const isReplaced = permits('change versions')
        if (ignored.has(name) || formatColumn(old[name], isReplaced) === formatColumn(now[name], isReplaced))
          continue
        if (name === 'newest_id' || name === 'links' || name === 'superseded_at') replaced.push(old)
        this.#count(`column ${name}`)
        // A master key remembers the user keys that it issues, and its rotation refreshes them.
        const master = this.#world.find('abe master')
        const isRefreshed =
          allowed(thing, 'make derivation', 'change versions') || allowed(master, 'change versions')
        if (thing.kind === 'abe' && isRefreshed) continue
        // The rotation changes the public key of the master key in place, for holders of `rekey` on both.
        const isPublicForm = thing.name === 'abe public' && name === 'form'
        if (isPublicForm && [thing, master].every((half) => allowed(half, 'change versions'))) continue
        if (!permits(...(columns[name] ?? ['change attributes'])))
          violations.push(`changed ${name} of ${thing.name}: ${formatChange(old[name], now[name])}`)
      }
    }
    return { violations, replaced }
  }

  #judgeNewObjects(
    before: Snapshot,
    after: Snapshot,
    { by, allowed }: Caller,
    replaced: readonly Row[],
  ): string[] {
    const violations: string[] = []
    const created = [...after.objects].filter(([id]) => !before.objects.has(id))
    const isPublic = ([, { object_type: type }]: readonly [string, Row]) => type === 'PublicKey'
    // A public key is known by its private one.
    for (const [id, now] of [...created.filter((one) => !isPublic(one)), ...created.filter(isPublic)]) {
      const old = replaced.find((row) => row.object_type === now.object_type)
      const thing = (old && (this.find(old.id) ?? this.find(old.chain_id))) ?? this.find(now.linked_id)
      // Certificates of ACME belong to the owner of the directory.
      if (by === acmeAccount && now.object_type === 'Certificate') continue
      if (thing === undefined) {
        violations.push(`made an object of ${now.owner}: ${now.object_type}`)
        continue
      }
      this.#count('version')
      this.#byId.set(id, thing)
      thing.ids.add(id)
      if (!this.#permits(allowed, thing, 'change versions'))
        violations.push(`made a version of ${thing.name}`)
      if (old === undefined || allowed(thing, 'change attributes')) continue
      for (const name of copied)
        if (formatValue(old[name]) !== formatValue(now[name]))
          violations.push(`loosened ${name} of ${thing.name}`)
      // A rotation gives the new version a period as long as that of the old one; ReKey copies the dates.
      const isReplacement = thing.kind !== 'certificate' && now.chain_id === null
      if (isReplacement && Number(old.deactivation_at ?? Infinity) < Number(now.deactivation_at ?? Infinity))
        violations.push(`prolonged ${thing.name}`)
    }
    return violations
  }

  #judgeOwners(before: Snapshot, after: Snapshot): string[] {
    const violations: string[] = []
    for (const { id, owner } of after.foreign) {
      if (this.#world.removed.has(String(id)))
        violations.push(`took the identifier ${id} of a removed object: ${owner}`)
      if (String(id).startsWith('hsm::')) violations.push(`created a key in the HSM: ${owner}`)
      if (before.objects.has(String(id))) violations.push(`took ${this.find(id)?.name} over: ${owner}`)
    }
    return violations
  }

  #judgeGrants(before: Snapshot, after: Snapshot, { rights, allowed }: Caller): string[] {
    const violations: string[] = []
    for (const grant of difference(before.grants, after.grants)) {
      const [object, user, right] = JSON.parse(grant)
      const thing = this.find(object)
      if (thing === undefined || (!after.objects.has(object) && this.#permits(allowed, thing, 'end object')))
        continue
      this.#count('grant')
      if (!allowed(thing, 'change grants') || !rights(thing).has(right))
        violations.push(`changed the right ${right} of ${user} on ${thing.name}`)
    }
    return violations
  }

  #judgeTags(before: Snapshot, after: Snapshot, { rights, allowed }: Caller): string[] {
    const violations: string[] = []
    for (const tag of difference(before.tags, after.tags)) {
      const [object, name] = JSON.parse(tag)
      const thing = this.find(object)
      if (thing === undefined) continue
      const mayEnd = !after.objects.has(object) && this.#permits(allowed, thing, 'end object')
      if (!mayEnd && !allowed(thing, 'change tags', 'end object', 'change versions'))
        violations.push(`changed a tag of ${thing.name}`)
      this.#count('tag')
      // A replacement may have the tags of its key.
      const isCopied = object !== thing.id && before.tags.has(JSON.stringify([thing.id, name]))
      if (!after.objects.has(object) || isCopied) continue
      // A change of a tag that grants name changes who has these rights.
      const grants = [...before.tagGrants]
        .map((grant) => JSON.parse(grant))
        .filter(([owner, grantTag]) => owner === thing.owner && grantTag === name)
      const mayPass = grants.every(([, , , right]) => rights(thing).has(right))
      if (grants.length > 0 && !(mayPass && allowed(thing, 'change grants')))
        violations.push(`changed the tag ${name} of ${thing.name}, by which rights are granted`)
    }
    return violations
  }

  #judgeDirectory(before: Snapshot, after: Snapshot, { by, allowed }: Caller): string[] {
    const violations: string[] = []
    // A credential is made with `certify`; all else of a directory is changed with `authorize`.
    const isAddition = [...before.acme].every((row) => after.acme.has(row))
    const mayChange = allowed(
      this.#world.authority,
      'change grants',
      ...(isAddition ? ['make certificate'] : []),
    )
    if (by !== acmeAccount && !mayChange)
      for (const row of difference(before.acme, after.acme))
        violations.push(`changed the ACME directory: ${row}`)
    return violations
  }

  #judgeIssued(before: Snapshot, after: Snapshot, { by, allowed }: Caller): string[] {
    const violations: string[] = []
    const { authority, authorityKey } = this.#world
    for (const [id, entry] of after.issued) {
      if (entry.authority_id !== authority.id) continue
      const old = before.issued.get(id)
      const thing = this.find(entry.certificate_id)
      const on = [authority, authorityKey, ...(thing === undefined ? [] : [thing])]
      if (old === undefined) {
        this.#count('certificate')
        if (by !== acmeAccount && ![authority, authorityKey].some((one) => allowed(one, 'make certificate')))
          violations.push(`${by} had a certificate issued by the authority`)
      } else if (formatValue(old.reason) !== formatValue(entry.reason)) {
        this.#count('revocation')
        if (!on.some((one) => allowed(one, 'end certificate')))
          violations.push(`revoked the certificate ${id}`)
      }
    }
    return violations
  }
}

/** Names and lists that no right on an object permits to change. */
function judgeNames(before: Snapshot, after: Snapshot): string[] {
  const violations: string[] = []
  for (const grant of difference(before.tagGrants, after.tagGrants))
    violations.push(`changed the grant ${grant}`)
  for (const member of difference(before.groups, after.groups))
    violations.push(`changed the group: ${member}`)
  for (const alias of before.aliases)
    if (!after.aliases.has(alias) && before.objects.size <= after.objects.size)
      violations.push(`changed the alias ${alias}`)
  return violations
}

function difference(one: ReadonlySet<string>, other: ReadonlySet<string>): string[] {
  return [...[...one].filter((each) => !other.has(each)), ...[...other].filter((each) => !one.has(each))]
}
