import { createCipheriv, createHash, createHmac, verify, X509Certificate } from 'node:crypto'
import type { Right } from '@warder/keys'
import { getReach } from '@warder/keys/testing'
import {
  keyPurposes,
  readBasicConstraints,
  readCertificateExtensions,
  readExtendedKeyUsage,
} from '@warder/pki'
import { type Database, query } from '@warder/storage'
import { acmeAccount, granteesNamed, owners } from './holders.ts'
import { type Exchange, messages } from './requests.ts'
import type { Thing, World } from './world.ts'

// Judges what a request reached from facts of its own: the secrets of the owners, the public halves of their keys, and
// the rows of the database before and after. It asks the service nothing.

type Row = Readonly<Record<string, unknown>>
type Rights = ReadonlySet<string>

/** A request of a principal, with what was sent and got. */
interface Played extends Exchange {
  readonly what: string
  readonly by: string
}

interface Secret {
  readonly what: string
  /** Whether a principal with these effects on things may learn it. */
  readonly may: (effects: (thing: Thing) => ReadonlySet<string>) => boolean
}

/** A caller, and what its rights before the request permit. */
interface Caller {
  readonly by: string
  readonly rights: (thing: Thing) => Rights
  readonly allowed: (thing: Thing, ...any: readonly string[]) => boolean
}

/** The state of everything that owners have. */
interface Snapshot {
  readonly objects: ReadonlyMap<string, Row>
  readonly grants: ReadonlySet<string>
  readonly tags: ReadonlySet<string>
  /** Grants by tag of the owners. */
  readonly tagGrants: ReadonlySet<string>
  /** Members and owners of the owners' groups, as rows have them. */
  readonly groups: ReadonlySet<string>
  readonly aliases: ReadonlySet<string>
  /** The directory of ACME of the authority, with its credentials and accounts. */
  readonly acme: ReadonlySet<string>
  readonly issued: ReadonlyMap<string, Row>
  readonly foreign: readonly Row[]
}

const objectRows = query<string[], Row>(
  `SELECT * FROM managed_object WHERE owner IN (${owners.map(() => '?').join(', ')})`,
)
const foreignRows = query<[], Row>('SELECT id, owner FROM managed_object')
const grantRows = query<[], Row>('SELECT object_id, user_id, operation FROM object_grant')
const tagRows = query<[], Row>('SELECT object_id, tag FROM object_tag')
const tagGrantRows = query<[], Row>('SELECT owner, tag, user_id, operation FROM tag_grant')
const memberRows = query<[], Row>('SELECT group_id, member FROM access_group_member')
const groupOwnerRows = query<[], Row>('SELECT group_id, owner FROM access_group_owner')
const directoryRows = query<[], Row>('SELECT authority_id, settings, opened_by FROM acme_directory')
const credentialRows = query<[], Row>('SELECT authority_id, id, owner, expires_at FROM acme_credential')
const accountRows = query<[], Row>('SELECT authority_id, id, status, thumbprint, owner FROM acme_account')
const aliasRows = query<[], Row>('SELECT * FROM key_alias')
const issuedRows = query<[], Row>(
  'SELECT id, authority_id, certificate_id, fingerprint, reason FROM pki_issued',
)

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
const kept = [
  'owner',
  'usage_mask',
  'extractable',
  'sensitive',
  'algorithm',
  'bits',
  'bound_alg',
  'object_type',
]

const together: ReadonlySet<string> = new Set(['change state', 'end object', 'change versions'])
const text = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
/**
 * A column without what the service notes in it: Get and Export note that the object is no longer fresh (KMIP 2.1
 * §4.23), a replacement that another object is the latest one.
 */
const stored = (value: unknown, isReplaced = false): string =>
  text(value).replaceAll(
    isReplaced ? /,?\{"tag":"(?:Fresh|RotateLatest)"[^}]*\}/g : /,?\{"tag":"Fresh"[^}]*\}/g,
    '',
  )
/** Both values from where they begin to differ. */
function formatChange(before: unknown, after: unknown): string {
  const [old, now] = [stored(before), stored(after)]
  let at = 0
  while (at < old.length && old[at] === now[at]) at += 1
  return [old, now].map((value) => value.slice(Math.max(0, at - 40), at + 60)).join(' -> ')
}
const block = (key: Uint8Array, input: Uint8Array): Buffer =>
  createCipheriv(`aes-${key.length * 8}-ecb`, key, null)
    .setAutoPadding(false)
    .update(input)
const counterBlock = (iv: Buffer, number: number): Buffer =>
  Buffer.concat([iv, Buffer.from([0, 0, 0, number])])

export class Oracle {
  readonly #world: World
  readonly #secrets = new Map<string, Secret>()
  /** What a principal learned with the rights of its time. */
  readonly #known = new Map<string, Set<string>>()
  readonly #db: Database
  #before: Snapshot | undefined
  readonly #byId = new Map<string, Thing>()
  #held = new Map<string, (thing: Thing) => Rights>()
  readonly counts = new Map<string, number>()

  constructor(world: World) {
    this.#world = world
    this.#db = world.kms.environment.db
    for (const thing of world.things) for (const id of thing.ids) this.#byId.set(id, thing)
    this.#addSecrets()
  }

  #secret(what: string, bytes: Uint8Array, may: Secret['may']): void {
    for (let at = 0; at + 16 <= bytes.length; at += 16)
      this.#secrets.set(Buffer.from(bytes.subarray(at, at + 16)).toString('hex'), { what, may })
  }

  #addSecrets(): void {
    const { things, sealed, tokens } = this.#world
    for (const thing of things) {
      const has =
        (effect: string): Secret['may'] =>
        (effects) =>
          effects(thing).has(effect) || effects(thing).has('reveal material')
      for (const secret of thing.secrets) {
        this.#secret(`material of ${thing.name}`, secret, has('reveal material'))
        if (thing.kind !== 'aes' && thing.kind !== 'hmac') continue
        for (const message of messages)
          for (const hash of ['sha256', 'sha512'])
            this.#secret(
              `a MAC of ${thing.name}`,
              createHmac(hash, secret).update(message).digest(),
              has('make mac'),
            )
        if (thing.kind !== 'aes') continue
        const both: Secret['may'] = (effects) =>
          effects(thing).has('reveal material') ||
          (effects(thing).has('make ciphertext') && effects(thing).has('reveal plaintext'))
        const ivs = sealed
          .filter((one) => one.thing === thing)
          .flatMap(({ mode, iv }) =>
            mode === 'GCM'
              ? [1, 2, 3].map((number) => counterBlock(iv, number))
              : iv.length === 16
                ? [iv]
                : [],
          )
        for (const input of [Buffer.alloc(16), ...ivs])
          this.#secret(`an output of the cipher of ${thing.name}`, block(secret, input), both)
      }
    }
    for (const { thing, plaintext, mode } of sealed)
      this.#secret(`plaintext of ${thing.name} in ${mode}`, plaintext, (effects) =>
        ['reveal plaintext', 'reveal material'].some((effect) => effects(thing).has(effect)),
      )
    for (const { thing, plaintext } of tokens) {
      const related = things.filter(({ family }) => family === thing.family)
      const ways = [
        'reveal plaintext',
        'reveal material',
        ...(thing.kind === 'abe' ? ['make derivation'] : []),
      ]
      this.#secret(`plaintext of ${thing.name}`, plaintext, (effects) =>
        related.some((one) => ways.some((effect) => effects(one).has(effect))),
      )
    }
  }

  async #read(): Promise<Snapshot> {
    const objects = await this.#db.all(objectRows, [...owners])
    const all = await this.#db.all(foreignRows, [])
    return {
      objects: new Map(objects.map((row) => [String(row.id), row])),
      foreign: all.filter(({ owner }) => !owners.some((one) => one === owner)),
      grants: new Set(
        (await this.#db.all(grantRows, [])).map(({ object_id, user_id, operation }) =>
          JSON.stringify([object_id, user_id, operation]),
        ),
      ),
      tags: new Set(
        (await this.#db.all(tagRows, [])).map(({ object_id, tag }) => JSON.stringify([object_id, tag])),
      ),
      tagGrants: new Set(
        (await this.#db.all(tagGrantRows, []))
          .filter(({ owner }) => owners.some((one) => one === owner))
          .map(({ owner, tag, user_id, operation }) => JSON.stringify([owner, tag, user_id, operation])),
      ),
      groups: new Set(
        [...(await this.#db.all(memberRows, [])), ...(await this.#db.all(groupOwnerRows, []))]
          .filter(({ group_id }) => this.#world.groups.some(({ id }) => id === group_id))
          .map(({ group_id, ...listed }) => JSON.stringify([group_id, listed])),
      ),
      aliases: new Set(
        (await this.#db.all(aliasRows, []))
          .filter(({ owner }) => owners.some((one) => one === owner))
          .map((row) => JSON.stringify(Object.values(row).map(text))),
      ),
      acme: new Set(
        (
          await Promise.all(
            [directoryRows, credentialRows, accountRows].map((rows) => this.#db.all(rows, [])),
          )
        )
          .flat()
          .filter(({ authority_id }) => authority_id === this.#world.authority.id)
          .map((row) => JSON.stringify(Object.values(row).map(text))),
      ),
      issued: new Map((await this.#db.all(issuedRows, [])).map((row) => [String(row.id), row])),
    }
  }

  /** Reads the state anew: owners changed it. */
  async refresh(): Promise<void> {
    this.#before = await this.#read()
    this.#held.clear()
  }

  /** The rights that a user has on anything, in a fixed order. */
  heldBy(user: string): readonly string[] {
    const found = this.#world.things.flatMap((thing) => [...this.rightsOf(user, thing)])
    return [...new Set(found)].sort()
  }

  rightsOf(user: string, thing: Thing): Rights {
    if (this.#before === undefined) return new Set()
    const rights = this.#held.get(user) ?? this.#rights(user, this.#before)
    this.#held.set(user, rights)
    return rights(thing)
  }

  /** The rights by grants on the key and by grants on its tags, to all names under which the user is a grantee. */
  #rights(user: string, { grants, tags, tagGrants }: Snapshot): (thing: Thing) => Rights {
    const grantees = granteesNamed(this.#world.groups, user)
    const found = new Map<string, Set<string>>()
    const add = (object: string, right: string) =>
      found.set(object, new Set([...(found.get(object) ?? []), right]))
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
    return (thing) => found.get(thing.id) ?? new Set()
  }

  #effects(rights: (thing: Thing) => Rights): (thing: Thing) => ReadonlySet<string> {
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
    const before = this.#before ?? (await this.#read())
    const after = await this.#read()
    this.#before = after
    this.#held.clear()
    const rights = this.#rights(played.by, before)
    const effects = this.#effects(rights)
    const allowed = (thing: Thing, ...any: readonly string[]) =>
      any.some((effect) => effects(thing).has(effect))
    return [
      ...this.#revealed(played, effects),
      ...this.#signed(played, after, allowed),
      ...this.#changed(before, after, { by: played.by, rights, allowed }),
      ...this.#unfitting(played.got, played.by),
      ...(await this.#differing(before, after)),
    ]
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  #revealed(played: Played, effects: (thing: Thing) => ReadonlySet<string>): string[] {
    const found: string[] = []
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
          if (!secret.may(effects)) found.push(`revealed ${secret.what}`)
        }
      }
    for (const thing of this.#world.things) {
      if (thing.canaries.some(shows)) {
        this.#count('attributes')
        if (!effects(thing).has('reveal attributes')) found.push(`revealed attributes of ${thing.name}`)
      }
      const isNamed = [...thing.ids].some(shows)
      const related = this.#world.things.filter(({ family }) => family === thing.family)
      // The set of public keys is public.
      if (played.what.startsWith('jwks') && thing.kind === 'public') continue
      if (isNamed && !related.some((one) => effects(one).size > 0))
        found.push(`revealed that ${thing.name} exists`)
      if (shows(thing.holder) && !effects(thing).has('reveal grants'))
        found.push(`revealed who has rights on ${thing.name}`)
    }
    const grantees = granteesNamed(this.#world.groups, played.by)
    const seesGrants = () => this.#world.things.some((thing) => effects(thing).has('reveal grants'))
    for (const { id } of this.#world.groups)
      if (shows(id.slice('group:'.length)) && !grantees.has(id) && !seesGrants())
        found.push(`revealed that ${id} exists`)
    return found
  }

  /** Signatures and certificates that verify under keys of owners. */
  #signed(
    { got, signed }: Played,
    { issued }: Snapshot,
    allowed: (thing: Thing, ...any: readonly string[]) => boolean,
  ): string[] {
    const found: string[] = []
    // Certificates in the register are judged by their entries.
    const known = new Set([...issued.values()].map(({ fingerprint }) => fingerprint))
    const isKnown = (output: Buffer) => known.has(createHash('sha256').update(output).digest('hex'))
    for (const thing of this.#world.things) {
      const { publicKey } = thing
      if (publicKey === undefined) continue
      for (const output of got) {
        if (allowed(thing, 'make signature', 'reveal material')) continue
        if (isCertificateBy(output, publicKey) && !isKnown(output) && !allowed(thing, 'make certificate'))
          found.push(`made a certificate with ${thing.name}`)
        if (signed.some((message) => isSignature(publicKey, message, output)))
          found.push(`made a signature with ${thing.name}`)
      }
    }
    return found
  }

  #changed(before: Snapshot, after: Snapshot, { by, rights, allowed }: Caller): string[] {
    const found: string[] = []
    const at = (id: unknown): Thing | undefined => this.#byId.get(String(id))
    const replaced: Row[] = []
    // The halves of a pair are disabled, restored, ended and rotated together.
    const permitsOn = (thing: Thing, ...any: readonly string[]): boolean =>
      allowed(thing, ...any) ||
      this.#world.things.some(
        (half) =>
          half.family === thing.family &&
          [half, thing].every(({ kind }) => kind !== 'certificate') &&
          allowed(half, ...any.filter((effect) => together.has(effect))),
      )
    for (const [id, old] of before.objects) {
      const now = after.objects.get(id)
      const thing = at(id) ?? at(old.chain_id)
      if (thing === undefined) continue
      const permits = (...any: readonly string[]) => permitsOn(thing, ...any)
      if (now === undefined) {
        if (!permits('end object')) found.push(`removed ${thing.name}`)
        continue
      }
      for (const name of Object.keys(old)) {
        const isReplaced = permits('change versions')
        if (ignored.has(name) || stored(old[name], isReplaced) === stored(now[name], isReplaced)) continue
        if (name === 'newest_id' || name === 'links' || name === 'superseded_at') replaced.push(old)
        this.#count(`column ${name}`)
        // A master key remembers the user keys that it issues, and its rotation refreshes them.
        const master = this.#world.find('abe master')
        const refreshed =
          allowed(thing, 'make derivation', 'change versions') || allowed(master, 'change versions')
        if (thing.kind === 'abe' && refreshed) continue
        if (!permits(...(columns[name] ?? ['change attributes'])))
          found.push(`changed ${name} of ${thing.name}: ${formatChange(old[name], now[name])}`)
      }
    }
    const made = [...after.objects].filter(([id]) => !before.objects.has(id))
    const isPublic = ([, { object_type: type }]: readonly [string, Row]) => type === 'PublicKey'
    // A public key is known by its private one.
    for (const [id, now] of [...made.filter((one) => !isPublic(one)), ...made.filter(isPublic)]) {
      const old = replaced.find((row) => row.object_type === now.object_type)
      const thing = (old && (at(old.id) ?? at(old.chain_id))) ?? at(now.linked_id)
      // Certificates of ACME belong to the owner of the directory.
      if (by === acmeAccount && now.object_type === 'Certificate') continue
      if (thing === undefined) {
        found.push(`made an object of ${now.owner}: ${now.object_type}`)
        continue
      }
      this.#count('version')
      this.#byId.set(id, thing)
      thing.ids.add(id)
      if (!permitsOn(thing, 'change versions')) found.push(`made a version of ${thing.name}`)
      if (old === undefined || allowed(thing, 'change attributes')) continue
      for (const name of kept)
        if (text(old[name]) !== text(now[name])) found.push(`loosened ${name} of ${thing.name}`)
      // A rotation gives the new version a period as long as that of the old one; ReKey copies the dates.
      const isReplacement = thing.kind !== 'certificate' && now.chain_id === null
      if (isReplacement && Number(old.deactivation_at ?? Infinity) < Number(now.deactivation_at ?? Infinity))
        found.push(`prolonged ${thing.name}`)
    }
    for (const { id, owner } of after.foreign) {
      if (this.#world.removed.has(String(id)))
        found.push(`took the identifier ${id} of a removed object: ${owner}`)
      if (before.objects.has(String(id))) found.push(`took ${at(id)?.name} over: ${owner}`)
    }
    for (const grant of difference(before.grants, after.grants)) {
      const [object, user, right] = JSON.parse(grant)
      const thing = at(object)
      if (thing === undefined || (!after.objects.has(object) && permitsOn(thing, 'end object'))) continue
      this.#count('grant')
      if (!allowed(thing, 'change grants') || !rights(thing).has(right))
        found.push(`changed the right ${right} of ${user} on ${thing.name}`)
    }
    for (const tag of difference(before.tags, after.tags)) {
      const [object, name] = JSON.parse(tag)
      const thing = at(object)
      if (thing === undefined) continue
      const mayEnd = !after.objects.has(object) && permitsOn(thing, 'end object')
      if (!mayEnd && !allowed(thing, 'change tags', 'end object', 'change versions'))
        found.push(`changed a tag of ${thing.name}`)
      this.#count('tag')
      // A replacement may have the tags of its key.
      const isCopied = object !== thing.id && before.tags.has(JSON.stringify([thing.id, name]))
      if (!after.objects.has(object) || isCopied) continue
      // Who changes a tag that grants name decides who has these rights.
      const granted = [...before.tagGrants]
        .map((grant) => JSON.parse(grant))
        .filter(([owner, tagOfGrant]) => owner === thing.owner && tagOfGrant === name)
      const mayPass = granted.every(([, , , right]) => rights(thing).has(right))
      if (granted.length > 0 && !(mayPass && allowed(thing, 'change grants')))
        found.push(`changed the tag ${name} of ${thing.name}, by which rights are granted`)
    }
    // A credential is made with `certify`; all else of a directory is changed with `authorize`.
    const madeOnly = [...before.acme].every((row) => after.acme.has(row))
    const mayChange = allowed(
      this.#world.authority,
      'change grants',
      ...(madeOnly ? ['make certificate'] : []),
    )
    if (by !== acmeAccount && !mayChange)
      for (const row of difference(before.acme, after.acme)) found.push(`changed the ACME directory: ${row}`)
    for (const grant of difference(before.tagGrants, after.tagGrants))
      found.push(`changed the grant ${grant}`)
    for (const member of difference(before.groups, after.groups)) found.push(`changed the group: ${member}`)
    for (const alias of before.aliases)
      if (!after.aliases.has(alias) && before.objects.size <= after.objects.size)
        found.push(`changed the alias ${alias}`)
    return [...found, ...this.#issued(before, after, by, allowed)]
  }

  #issued(
    before: Snapshot,
    after: Snapshot,
    by: string,
    allowed: (thing: Thing, ...any: readonly string[]) => boolean,
  ): string[] {
    const found: string[] = []
    const { authority, authorityKey } = this.#world
    for (const [id, entry] of after.issued) {
      if (entry.authority_id !== authority.id) continue
      const old = before.issued.get(id)
      const thing = this.#byId.get(String(entry.certificate_id))
      const on = [authority, authorityKey, ...(thing === undefined ? [] : [thing])]
      if (old === undefined) {
        this.#count('certificate')
        if (by !== acmeAccount && ![authority, authorityKey].some((one) => allowed(one, 'make certificate')))
          found.push(`${by} had a certificate issued by the authority`)
      } else if (text(old.reason) !== text(entry.reason)) {
        this.#count('revocation')
        if (!on.some((one) => allowed(one, 'end certificate'))) found.push(`revoked the certificate ${id}`)
      }
    }
    return found
  }

  /** Certificates of the authority in a reply that its profiles do not permit. */
  #unfitting(got: readonly Buffer[], by?: string): string[] {
    const { publicKey } = this.#world.authorityKey
    return got.flatMap((output) => {
      if (publicKey === undefined || !isCertificateBy(output, publicKey)) return []
      this.#count('certificate in a reply')
      const extensions = readCertificateExtensions(output)
      const purposes = readExtendedKeyUsage(extensions)
      const { subjectAltName = '' } = new X509Certificate(output)
      if (by === acmeAccount && subjectAltName !== 'DNS:localhost')
        return [`made a certificate for names that the account does not control: ${subjectAltName}`]
      const fits = purposes?.every((purpose) => purpose === keyPurposes.serverAuth) === true
      return fits && readBasicConstraints(extensions).authority !== true
        ? []
        : [`made a certificate of the authority beyond its profiles: ${purposes}`]
    })
  }

  /** Replacements of owners' certificates have their subject, names, key and issuer. */
  async #differing(before: Snapshot, after: Snapshot): Promise<string[]> {
    const found: string[] = []
    for (const [id, { object_type: type, owner }] of after.objects) {
      if (type !== 'Certificate' || before.objects.has(id)) continue
      const thing = this.#byId.get(id)
      if (thing === undefined) continue
      const [old, made] = await Promise.all(
        [thing.id, id].map((one) => this.#certificate(String(owner), one)),
      )
      this.#count('replaced certificate')
      for (const member of ['subject', 'subjectAltName', 'issuer'] as const)
        if (old?.[member] !== made?.[member]) found.push(`changed ${member} of ${thing.name}`)
      if (made !== undefined) found.push(...this.#unfitting([made.raw]))
    }
    return found
  }

  async #certificate(owner: string, id: string): Promise<X509Certificate | undefined> {
    const headers = { accept: 'application/x-pem-file' }
    const answer = await this.#world.user(owner).call('GET', `/v1/pki/certificates/${id}`, { headers })
    return answer.status === 200 ? new X509Certificate(answer.text) : undefined
  }
}

function combine(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.subarray(0, other.length)).map((byte, at) => byte ^ (other[at] ?? 0)) as Buffer
}

function difference(one: ReadonlySet<string>, other: ReadonlySet<string>): string[] {
  return [...[...one].filter((each) => !other.has(each)), ...[...other].filter((each) => !one.has(each))]
}

function isCertificateBy(output: Buffer, issuer: X509Certificate['publicKey']): boolean {
  if (output.length < 200 || output[0] !== 0x30) return false
  try {
    return new X509Certificate(output).verify(issuer)
  } catch {
    return false
  }
}

function isSignature(publicKey: X509Certificate['publicKey'], message: Uint8Array, output: Buffer): boolean {
  const type = publicKey.asymmetricKeyType
  try {
    if (type === 'ed25519') return output.length === 64 && verify(null, message, publicKey, output)
    if (type === 'ec') {
      const isFixed = output.length === 64
      if (!isFixed && (output.length < 68 || output.length > 72)) return false
      const key = { key: publicKey, dsaEncoding: isFixed ? 'ieee-p1363' : 'der' } as const
      return verify('sha256', message, key, output)
    }
    return output.length === 256 && verify('sha256', message, publicKey, output)
  } catch {
    return false
  }
}
