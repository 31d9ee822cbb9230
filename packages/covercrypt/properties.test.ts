import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  decapsulate,
  decodeEncapsulation,
  type Encapsulated,
  encapsulate,
  encodeEncapsulation,
} from './encapsulation.ts'
import { CovercryptError } from './error.ts'
import {
  decodeMasterKey,
  decodePublicKey,
  decodeUserKey,
  encodeMasterKey,
  encodePublicKey,
  encodeUserKey,
} from './key-bytes.ts'
import {
  createMasterKey,
  derivePublicKey,
  type MasterKey,
  prune,
  rekey,
  type UserKey,
  withStructure,
} from './keys.ts'
import { encryptionRights, parsePolicy, userRights } from './policy.ts'
import {
  type Attribute,
  addAttribute,
  deleteAttribute,
  disableAttribute,
  listAttributes,
  nextAttributeId,
  renameAttribute,
  type Structure,
} from './structure.ts'
import { structureFromJson } from './structure-formats.ts'
import { issue, toHex } from './testing/keys.ts'
import { mayRead } from './testing/model.ts'
import { refreshUserKey } from './user-key.ts'

const dimensionNames = ['A', 'B', 'C']
const attributeNames = ['one', 'two', 'three']

/** Generates a structure with one mode for all its attributes, so that every policy can be encrypted for. */
const structures: fc.Arbitrary<Structure> = fc
  .tuple(
    fc.array(fc.record({ ordered: fc.boolean(), size: fc.integer({ min: 1, max: 3 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    fc.constantFrom('', '', '', '::+'),
  )
  .map(([dimensions, suffix]) =>
    structureFromJson(
      Object.fromEntries(
        dimensions.map(({ ordered, size }, index) => [
          `${dimensionNames[index]}${ordered ? '::<' : ''}`,
          attributeNames.slice(0, size).map((name) => name + suffix),
        ]),
      ),
    ),
  )

/**
 * Generates a policy with attributes of the structure: no dimension twice in a clause, at least one attribute in
 * each.
 */
const policiesOf = ({ dimensions }: Structure): fc.Arbitrary<string> => {
  const clause = fc
    .tuple(...dimensions.map(({ attributes }) => fc.option(fc.nat(attributes.length - 1))))
    .filter((chosen) => chosen.some((index) => index !== null))
    .map((chosen) =>
      chosen
        .flatMap((index, at) => {
          const { name, attributes } = dimensions[at] as (typeof dimensions)[number]
          return index === null ? [] : [`${name}::${attributes[index]?.name}`]
        })
        .join(' && '),
    )
  return fc
    .array(clause, { minLength: 1, maxLength: 3 })
    .map((clauses) => clauses.map((each) => `(${each})`).join(' || '))
}

interface World {
  readonly structure: Structure
  readonly users: readonly string[]
  readonly texts: readonly string[]
  readonly changed: string
}

const worlds = structures.chain((structure) =>
  fc.record<World>({
    structure: fc.constant(structure),
    users: fc.array(policiesOf(structure), { minLength: 1, maxLength: 3 }),
    texts: fc.array(policiesOf(structure), { minLength: 1, maxLength: 3 }),
    changed: policiesOf(structure),
  }),
)

const numRuns = 15
const rightsFor = (structure: Structure, policy: string) => userRights(structure, parsePolicy(policy))
const sealFor = (master: MasterKey, policy: string): Encapsulated =>
  encapsulate(derivePublicKey(master), encryptionRights(master.structure, parsePolicy(policy)))

function opens(userKey: UserKey, { encapsulation, secret }: Encapsulated): boolean {
  try {
    assert.equal(toHex(decapsulate(userKey, encapsulation)), toHex(secret))
    return true
  } catch (error) {
    if (error instanceof CovercryptError && error.code === 'cannot_open') return false
    throw error
  }
}

function usersOf(
  first: MasterKey,
  policies: readonly string[],
): { keys: readonly UserKey[]; master: MasterKey } {
  let master = first
  const keys = policies.map((policy) => {
    const issued = issue(master, policy)
    master = issued.master
    return issued.userKey
  })
  return { keys, master }
}

/** For each user, which texts the user can decrypt. */
const table = (keys: readonly UserKey[], sealed: readonly Encapsulated[]): readonly (readonly boolean[])[] =>
  keys.map((key) => sealed.map((one) => opens(key, one)))

const expected = ({ structure, users, texts }: World): readonly (readonly boolean[])[] =>
  users.map((user) => texts.map((text) => mayRead(structure, user, text)))

test('exactly the users that the policy allows can decrypt, and objects round-trip through bytes', () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const { keys, master } = usersOf(createMasterKey(world.structure), world.users)
      const written = keys.map((key) => decodeUserKey(encodeUserKey(key)))
      const again = decodeMasterKey(encodeMasterKey(master))
      assert.deepEqual(again, decodeMasterKey(encodeMasterKey(again)))
      const published = decodePublicKey(encodePublicKey(derivePublicKey(again)))
      const sealed = world.texts.map((text) => {
        const made = encapsulate(published, encryptionRights(published.structure, parsePolicy(text)))
        return { ...made, encapsulation: decodeEncapsulation(encodeEncapsulation(made.encapsulation)) }
      })
      assert.deepEqual(table(written, sealed), expected(world))
    }),
    { numRuns },
  )
})

test('after a rekey refreshed users open old and new data, others only old data; after a prune pruned data cannot be opened', () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const { keys, master } = usersOf(createMasterKey(world.structure), world.users)
      const old = world.texts.map((text) => sealFor(master, text))
      const chosen = rightsFor(world.structure, world.changed)
      const renewed = rekey(master, chosen)
      const refreshed = keys.map((key) => refreshUserKey(renewed, key))
      const fresh = world.texts.map((text) => sealFor(renewed, text))
      assert.deepEqual(table(refreshed, old), expected(world))
      assert.deepEqual(table(refreshed, fresh), expected(world))
      const targetsOf = (text: string) => [...encryptionRights(world.structure, parsePolicy(text))]
      for (const [at, key] of keys.entries()) {
        const held = new Set(key.rights.keys())
        for (const [index, text] of world.texts.entries()) {
          const stays = targetsOf(text).some((right) => held.has(right) && !chosen.has(right))
          assert.equal(opens(key, fresh[index] as Encapsulated), stays, 'a user who was not refreshed')
          assert.equal(opens(key, old[index] as Encapsulated), expected(world)[at]?.[index])
        }
      }
      const pruned = prune(renewed, chosen)
      for (const before of [keys, refreshed]) {
        const after = before.map((key) => refreshUserKey(pruned, key))
        assert.deepEqual(table(after, fresh), expected(world))
        for (const key of after) {
          const held = new Set(key.rights.keys())
          for (const [index, text] of world.texts.entries())
            assert.equal(
              opens(key, old[index] as Encapsulated),
              targetsOf(text).some((right) => held.has(right) && !chosen.has(right)),
            )
        }
      }
    }),
    { numRuns },
  )
})

test('after attributes are disabled, renamed, deleted or added, exactly the users that the policy allows can decrypt', () => {
  fc.assert(
    fc.property(worlds, fc.nat(), fc.nat(), (world, dimensionIndex, attributeIndex) => {
      const { structure } = world
      const { keys, master } = usersOf(createMasterKey(structure), world.users)
      const old = world.texts.map((text) => sealFor(master, text))
      const dimension = structure.dimensions[
        dimensionIndex % structure.dimensions.length
      ] as Structure['dimensions'][0]
      const attribute = dimension.attributes[attributeIndex % dimension.attributes.length] as { name: string }
      const name = { dimension: dimension.name, name: attribute.name }
      const mentions = (text: string): boolean => text.includes(`${name.dimension}::${name.name}`)

      const disabled = withStructure(master, disableAttribute(structure, name))
      assert.deepEqual(
        table(
          keys.map((key) => refreshUserKey(disabled, key)),
          old,
        ),
        expected(world),
      )
      for (const text of world.texts)
        if (mentions(text)) assert.throws(() => sealFor(disabled, text), { code: 'disabled_attribute' })
        else sealFor(disabled, text)

      const renamed = withStructure(master, renameAttribute(structure, name, 'other'))
      assert.deepEqual(
        table(
          keys.map((key) => refreshUserKey(renamed, key)),
          old,
        ),
        expected(world),
      )

      const deleted = withStructure(master, deleteAttribute(structure, name))
      const left = keys.map((key) => refreshUserKey(deleted, key))
      const id = nextAttributeId(deleted.structure, nextAttributeId(structure, 0))
      const { mode } = listAttributes(structure)[0] as Attribute
      const wanted = { dimension: name.dimension, name: 'new', mode, after: undefined }
      const added = withStructure(deleted, addAttribute(deleted.structure, wanted, id))
      const current = [left, keys.map((key) => refreshUserKey(added, key))]
      const sealed = sealFor(added, `${name.dimension}::new`)
      for (const all of current)
        for (const key of all) assert.equal(opens(key, sealed), false, 'no key gains a right')
      const someone = issue(added, `${name.dimension}::new`).userKey
      assert.equal(opens(someone, sealed), true)
      for (const [index, text] of world.texts.entries())
        if (
          parsePolicy(text).every((clause) => clause.some((one) => mentions(`${one.dimension}::${one.name}`)))
        )
          for (const key of left) assert.equal(opens(key, old[index] as Encapsulated), false, 'deleted')
    }),
    { numRuns },
  )
})

test('two user keys cannot be combined to gain rights', () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const [one, other] = [world.users[0] as string, world.changed]
      const { keys, master } = usersOf(createMasterKey(world.structure), [one, other])
      const [first, second] = keys as [UserKey, UserKey]
      const rights = new Map([...first.rights, ...second.rights])
      for (const text of world.texts) {
        const sealed = sealFor(master, text)
        const apart = opens(first, sealed) || opens(second, sealed)
        for (const { id, tracingPoints } of [first, second])
          assert.equal(opens({ id, tracingPoints, rights, signature: undefined }, sealed), apart)
        // Half of each identifier belongs to no user.
        const mixed = { ...first, id: [first.id[0], second.id[1]] as UserKey['id'], rights }
        assert.equal(opens(mixed, sealed), sealed.encapsulation.mode === 'PostQuantum' && apart)
      }
    }),
    { numRuns },
  )
})
