import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encapsulate, encodeEncapsulation } from './encapsulation.ts'
import { CovercryptError } from './error.ts'
import { decodeBulkSealRequest, decodeItems, decodeSealRequest } from './frames.ts'
import {
  decodeMasterKey,
  decodePublicKey,
  decodeUserKey,
  encodeMasterKey,
  encodePublicKey,
  encodeUserKey,
} from './key-bytes.ts'
import { derivePublicKey, rekey } from './keys.ts'
import { encryptionRights, parsePolicy, userRights } from './policy.ts'
import { open, openMany, opensWith, seal } from './sealing.ts'
import { addAttribute, broadcast } from './structure.ts'
import { decodeStructure, structureFromJson } from './structure-formats.ts'
import { createMaster, issue } from './testing/keys.ts'
import { createUserKey, refreshUserKey } from './user-key.ts'

const text = Buffer.from('the text')
const none = new Uint8Array()
const structure = { 'Level::<': ['low', 'high::+'], Team: ['blue', 'red'] }

/** Returns the error of a call; a result or another error fails the test. */
function refusal(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof CovercryptError) return error.code
    throw error
  }
  return 'accepted'
}

test('truncated and extended keys, and those with wrong counts, are refused', () => {
  const issued = issue(createMaster(structure), 'Level::high && Team::blue')
  const objects = [
    [encodeUserKey(issued.userKey), decodeUserKey],
    [encodeMasterKey(issued.master), decodeMasterKey],
    [encodePublicKey(derivePublicKey(issued.master)), decodePublicKey],
  ] as const
  for (const [bytes, decode] of objects) {
    for (let length = 0; length < bytes.length; length += 1 + Math.floor(length / 40))
      assert.equal(
        refusal(() => decode(bytes.subarray(0, length))),
        'malformed',
        `${length} of ${bytes.length}`,
      )
    assert.equal(
      refusal(() => decode(Buffer.concat([bytes, none, Buffer.alloc(1)]))),
      'malformed',
    )
  }
  const wild = Buffer.from('ffffffffffffff0f', 'hex')
  const master = encodeMasterKey(issued.master)
  // In place of the number of tracers, of users, and of a first byte.
  for (const at of [32, 32 + 1 + 2 * 64]) {
    const altered = Buffer.concat([master.subarray(0, at), wild, master.subarray(at + 1)])
    assert.equal(
      refusal(() => decodeMasterKey(altered)),
      'malformed',
    )
  }
  for (const decode of [decodeUserKey, decodePublicKey, decodeStructure])
    assert.equal(
      refusal(() => decode(Buffer.concat([wild, Buffer.alloc(100)]))),
      'malformed',
    )
})

test('arbitrary bytes are read or refused with the defined errors; mutated keys and ciphertexts open no other data', () => {
  const issued = issue(createMaster(structure), 'Level::high && Team::blue')
  const usk = encodeUserKey(issued.userKey)
  const published = derivePublicKey(issued.master)
  const sealed = seal(published, '(Level::low && Team::blue) || Team::blue', text, none)
  const keyOf = opensWith(issued.userKey)
  assert.deepEqual(open(keyOf, sealed, none), text)
  const change = fc.record({ at: fc.nat(), to: fc.integer({ min: 1, max: 255 }) })
  fc.assert(
    fc.property(change, fc.uint8Array({ maxLength: 200 }), ({ at, to }, noise) => {
      const altered = sealed.slice()
      const index = at % altered.length
      altered[index] = (altered[index] as number) ^ to
      assert.equal(
        refusal(() => open(keyOf, altered, none)),
        'cannot_open',
      )
      const key = usk.slice()
      key[at % key.length] = (key[at % key.length] as number) ^ to
      refusal(() => open(opensWith(decodeUserKey(key)), sealed, none))
      const other = refusal(() => refreshUserKey(issued.master, decodeUserKey(key)))
      // Tracing points are not covered by the signature; everything else is.
      const tracing = at % key.length >= 1 + 64 && at % key.length < 1 + 64 + 1 + 64
      if (!tracing) assert.match(other, /^(malformed|foreign_key)$/)
      for (const decode of [decodeUserKey, decodeMasterKey, decodePublicKey, decodeStructure, decodeItems])
        refusal(() => decode(noise))
      refusal(() => decodeSealRequest(noise))
      refusal(() => decodeBulkSealRequest(noise))
      refusal(() => openMany(issued.userKey, noise, none))
      assert.equal(
        refusal(() => open(keyOf, noise, none)),
        'cannot_open',
      )
    }),
    { numRuns: 150 },
  )
  for (let length = 0; length < sealed.length; length++)
    assert.equal(
      refusal(() => open(keyOf, sealed.subarray(0, length), none)),
      'cannot_open',
    )
  assert.equal(
    refusal(() => open(keyOf, sealed, Buffer.from('other data'))),
    'cannot_open',
  )
})

test('a user key of another master, one without rights, and one with another identifier open and refresh nothing', () => {
  const [master, foreign] = [createMaster(structure), createMaster(structure)]
  const mine = issue(master, 'Team::blue')
  const theirs = issue(foreign, 'Team::blue')
  const sealed = seal(derivePublicKey(master), 'Team::blue', text, none)
  assert.equal(
    refusal(() => open(opensWith(theirs.userKey), sealed, none)),
    'cannot_open',
  )
  assert.equal(
    refusal(() => refreshUserKey(mine.master, theirs.userKey)),
    'foreign_key',
  )
  // Made by the master key before it knew its users.
  assert.equal(
    refusal(() => refreshUserKey(master, mine.userKey)),
    'foreign_key',
  )
  assert.equal(
    refusal(() => refreshUserKey(mine.master, { ...mine.userKey, signature: undefined })),
    'foreign_key',
  )
  const another = { ...mine.userKey, id: theirs.userKey.id }
  assert.equal(
    refusal(() => open(opensWith(another), sealed, none)),
    'cannot_open',
  )
  const rights = new Map([...mine.userKey.rights].filter(([right]) => right === broadcast))
  assert.equal(
    refusal(() => refreshUserKey(mine.master, { ...mine.userKey, rights })),
    'foreign_key',
  )
  assert.equal(
    refusal(() => decodeUserKey(encodeUserKey({ ...mine.userKey, rights: new Map() }))),
    'malformed',
  )
})

test('points of small order, the identity, other encodings, and scalars out of range are refused', () => {
  const { userKey, master } = issue(createMaster({ A: ['a'] }), 'A::a')
  const usk = encodeUserKey(userKey)
  const sealed = seal(derivePublicKey(master), 'A::a', text, none)
  const bad = [
    '0000000000000000000000000000000000000000000000000000000000000000', // the identity
    '0100000000000000000000000000000000000000000000000000000000000000', // negative
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', // p - 1: no square
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', // p, for 0
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', // order 8 on the curve
    'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  ]
  for (const hex of bad) {
    const point = Buffer.from(hex, 'hex')
    const altered = Buffer.from(sealed)
    altered.set(point, 1 + 16 + 1)
    assert.equal(
      refusal(() => open(opensWith(userKey), altered, none)),
      'cannot_open',
      hex,
    )
    const key = Buffer.from(usk)
    key.set(point, 1 + 64 + 1)
    assert.equal(
      refusal(() => decodeUserKey(key)),
      'malformed',
      hex,
    )
  }
  const order = 'edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010'
  for (const hex of ['00'.repeat(32), order, 'ff'.repeat(32)]) {
    const key = Buffer.from(usk)
    key.set(Buffer.from(hex, 'hex'), 1)
    assert.equal(
      refusal(() => decodeUserKey(key)),
      'malformed',
      hex,
    )
  }
})

test('points chosen so that their weighted sum is the identity open nothing', () => {
  const { userKey, master } = issue(createMaster({ A: ['a'] }), 'A::a')
  const rights = encryptionRights(master.structure, parsePolicy('A::a'))
  const { encapsulation } = encapsulate(derivePublicKey(master), rights)
  const [first] = encapsulation.points
  // Identifiers 1 and -1 with one point twice.
  const one = new Uint8Array(32).with(0, 1)
  const minusOne = new Uint8Array(
    Buffer.from('ecd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010', 'hex'),
  )
  const points = [first, first] as (typeof encapsulation)['points']
  const altered = encodeEncapsulation({ ...encapsulation, points })
  const sealed = Buffer.concat([altered, Buffer.alloc(28)])
  assert.equal(
    refusal(() => open(opensWith({ ...userKey, id: [one, minusOne] }), sealed, none)),
    'cannot_open',
  )
})

test('oversized and deeply nested policies, and names with separators, are refused at once', () => {
  const many = (count: number, operator: string) => Array.from({ length: count }, () => 'A::a').join(operator)
  const alternatives = (count: number) => Array.from({ length: count }, () => '(A::a || A::b)').join(' && ')
  for (const policy of [
    many(10_000, ' || '),
    many(10_000, ' && '),
    alternatives(40),
    `${'A::a || '.repeat(600)}A::a`,
    'x'.repeat(20_000),
  ])
    assert.equal(
      refusal(() => parsePolicy(policy)),
      'too_large',
    )
  for (const policy of [
    `${'('.repeat(2000)}A::a${')'.repeat(2000)}`,
    'A::a::b',
    'A:::',
    '::',
    'A::a & B::b',
    '*::a::',
  ])
    assert.equal(
      refusal(() => parsePolicy(policy)),
      'invalid_policy',
      policy.slice(0, 20),
    )
  for (const name of [
    '',
    ' ',
    'a::b',
    ':a',
    'a:',
    'a)',
    'a&&b',
    'a|b',
    '*',
    ' a',
    'a\n',
    'a\u200bb',
    'x'.repeat(256),
    '\ud800',
  ])
    for (const json of [{ A: [name] }, { [name]: ['a'] }])
      assert.equal(
        refusal(() => structureFromJson(json)),
        'invalid_structure',
        JSON.stringify(name),
      )
  for (const json of [
    null,
    [],
    'A',
    { A: 'a' },
    { A: [1] },
    { A: ['a', 'a'] },
    { A: ['a', 'a::+'] },
    { A: ['x'], 'A::<': ['y'] },
  ])
    assert.equal(
      refusal(() => structureFromJson(json)),
      'invalid_structure',
    )
  const nine = Array.from({ length: 9 }, (_, index) => `n${index}`)
  assert.equal(
    refusal(() => structureFromJson({ A: nine, B: nine, C: nine, D: nine })),
    'too_large',
  )
})

test('policies with unknown attributes are refused, and for ciphertexts those that name a dimension twice', () => {
  const { structure: own } = createMaster(structure)
  const rights = (policy: string) => [
    refusal(() => encryptionRights(own, parsePolicy(policy))),
    refusal(() => userRights(own, parsePolicy(policy))),
  ]
  assert.deepEqual(rights('Team::green'), ['unknown_attribute', 'unknown_attribute'])
  assert.deepEqual(rights('Place::here'), ['unknown_attribute', 'unknown_attribute'])
  assert.deepEqual(rights('team::blue'), ['unknown_attribute', 'unknown_attribute'])
  for (const policy of ['Team::blue && Team::red', 'Team::blue && Team::blue', 'Level::low && Level::high'])
    assert.equal(rights(policy)[0], 'invalid_policy')
  // The key that the deployed library makes: the last attribute counts.
  assert.deepEqual(
    userRights(own, parsePolicy('Team::blue && Team::red')),
    userRights(own, parsePolicy('Team::red')),
  )
  const wanted = { dimension: 'Team', name: 'blue', mode: 'Classic', after: undefined } as const
  assert.equal(
    refusal(() => addAttribute(own, wanted, 9)),
    'invalid_structure',
  )
  assert.equal(
    refusal(() => createUserKey(createMaster(structure), ['ffff03'])),
    'unknown_attribute',
  )
})

test('the number of secrets of a right is limited', () => {
  let master = createMaster({})
  for (let revision = 1; revision < 64; revision++) master = rekey(master, [broadcast])
  assert.equal(
    refusal(() => rekey(master, [broadcast])),
    'too_large',
  )
})

test('bulk data with header metadata in front of the items, as they once were, are refused; without items they are not', () => {
  const head = [1, 0x2a]
  const items = [2, 1, 0x61, 1, 0x62]
  const read = (...bytes: readonly number[]) =>
    decodeBulkSealRequest(Uint8Array.from(bytes)).plaintexts.map((one) => Buffer.from(one).toString())
  assert.deepEqual(read(...head, ...items), ['a', 'b'])
  assert.deepEqual(read(...head, 0), [])
  assert.throws(() => read(...head, 0, ...items), /without header metadata/)
})
