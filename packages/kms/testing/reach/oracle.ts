import type { Right } from '@warder/keys'
import { getReach } from '@warder/keys/testing'
import { listGrantees } from './holders.ts'
import type { Exchange } from './requests.ts'
import { type Effects, listSecrets, type Secret } from './secrets.ts'
import { findAlteredCertificates, findSignatures, findUnfitCertificates } from './signatures.ts'
import { readSnapshot, type Snapshot } from './snapshot.ts'
import { StateOracle } from './state-oracle.ts'
import type { Thing, World } from './world.ts'

// Judges what a request reached from facts of its own: the secrets of the owners, the public halves of their keys, and
// the rows of the database before and after. It asks the service nothing.

type Rights = ReadonlySet<string>

/** A request of a principal, with what was sent and got. */
interface Played extends Exchange {
  readonly what: string
  readonly by: string
}

export class Oracle {
  readonly #world: World
  readonly #secrets: ReadonlyMap<string, Secret>
  readonly #state: StateOracle
  /** What a principal learned with the rights of its time. */
  readonly #known = new Map<string, Set<string>>()
  #before: Snapshot | undefined
  #held = new Map<string, (thing: Thing) => Rights>()
  readonly counts = new Map<string, number>()
  readonly #count = (what: string): void => {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  constructor(world: World) {
    this.#world = world
    this.#secrets = listSecrets(world)
    this.#state = new StateOracle(world, this.#count)
  }

  /** Reads the state anew: owners changed it. */
  async refresh(): Promise<void> {
    this.#before = await readSnapshot(this.#world)
    this.#held.clear()
  }

  /** The rights that a user has on anything, in a fixed order. */
  listRights(user: string): readonly string[] {
    const rights = this.#world.things.flatMap((thing) => [...this.getRights(user, thing)])
    return [...new Set(rights)].sort()
  }

  getRights(user: string, thing: Thing): Rights {
    if (this.#before === undefined) return new Set()
    const rights = this.#held.get(user) ?? this.#readRights(user, this.#before)
    this.#held.set(user, rights)
    return rights(thing)
  }

  /** The rights by grants on the key and by grants on its tags, to all names under which the user is a grantee. */
  #readRights(user: string, { grants, tags, tagGrants }: Snapshot): (thing: Thing) => Rights {
    const grantees = listGrantees(this.#world.groups, user)
    const byObject = new Map<string, Set<string>>()
    const add = (object: string, right: string) =>
      byObject.set(object, new Set([...(byObject.get(object) ?? []), right]))
    for (const grant of grants) {
      const [object, grantee, right] = JSON.parse(grant)
      if (grantees.has(grantee)) add(object, right)
    }
    for (const grant of tagGrants) {
      const [owner, tag, grantee, right] = JSON.parse(grant)
      if (!grantees.has(grantee)) continue
      for (const thing of this.#world.things)
        if (thing.owner === owner && tags.has(JSON.stringify([thing.id, tag]))) add(thing.id, right)
    }
    return (thing) => byObject.get(thing.id) ?? new Set()
  }

  #toEffects(rights: (thing: Thing) => Rights): Effects {
    const known = new Map<Thing, ReadonlySet<string>>()
    return (thing) => {
      const held = rights(thing)
      const effects =
        known.get(thing) ??
        new Set(
          held.size === 0
            ? []
            : ['reveal existence', ...[...held].flatMap((right) => [...getReach(right as Right)])],
        )
      known.set(thing, effects)
      return effects
    }
  }

  /** What the request reached beyond the rights of its caller. */
  async judge(played: Played): Promise<readonly string[]> {
    const before = this.#before ?? (await readSnapshot(this.#world))
    const after = await readSnapshot(this.#world)
    this.#before = after
    this.#held.clear()
    const rights = this.#readRights(played.by, before)
    const effects = this.#toEffects(rights)
    const allowed = (thing: Thing, ...any: readonly string[]) =>
      any.some((effect) => effects(thing).has(effect))
    const count = this.#count
    const find = (id: string) => this.#state.find(id)
    return [
      ...this.#findRevealed(played, effects),
      ...findSignatures(this.#world, played, after, allowed),
      ...this.#state.judge(before, after, { by: played.by, rights, allowed }),
      ...findUnfitCertificates(this.#world, played.got, { by: played.by, count }),
      ...(await findAlteredCertificates(this.#world, before, after, { find, count })),
    ]
  }

  #findRevealed(played: Played, effects: Effects): string[] {
    const violations: string[] = []
    const known = this.#known.get(played.by) ?? new Set()
    this.#known.set(played.by, known)
    const shows = (text: string) => played.gotText.includes(text) && !played.sentText.includes(text)
    for (const output of played.got)
      for (const bytes of [output, ...played.sent.map((sent) => combine(output, sent))]) {
        const hex = bytes.toString('hex')
        for (let at = 0; at + 32 <= hex.length; at += 2) {
          const part = hex.slice(at, at + 32)
          const secret = this.#secrets.get(part)
          if (secret === undefined || known.has(part)) continue
          known.add(part)
          this.#count('secret')
          if (!secret.may(effects)) violations.push(`revealed ${secret.what}`)
        }
      }
    // The identifier of the public half of a pair in an HSM begins with that of the private one.
    const showsId = (id: string) => shows(id) && played.gotText.replaceAll(`${id}_pk`, '').includes(id)
    for (const thing of this.#world.things) {
      if (thing.canaries.some(shows)) {
        this.#count('attributes')
        if (!effects(thing).has('reveal attributes')) violations.push(`revealed attributes of ${thing.name}`)
      }
      const isNamed = [...thing.ids].some(showsId)
      const related = this.#world.things.filter(({ family }) => family === thing.family)
      // The set of public keys is public.
      if (played.what.startsWith('jwks') && thing.kind === 'public') continue
      if (isNamed && !related.some((one) => effects(one).size > 0))
        violations.push(`revealed that ${thing.name} exists`)
      if (shows(thing.holder) && !effects(thing).has('reveal grants'))
        violations.push(`revealed who has rights on ${thing.name}`)
    }
    const grantees = listGrantees(this.#world.groups, played.by)
    const seesGrants = () => this.#world.things.some((thing) => effects(thing).has('reveal grants'))
    for (const { id } of this.#world.groups)
      if (shows(id.slice('group:'.length)) && !grantees.has(id) && !seesGrants())
        violations.push(`revealed that ${id} exists`)
    return violations
  }
}

function combine(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.subarray(0, other.length)).map((byte, at) => byte ^ (other[at] ?? 0)) as Buffer
}
