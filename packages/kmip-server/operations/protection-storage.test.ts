import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { attributeMembers, findObject, type ObjectId, readStoredAttributes } from '@warder/keys'
import { creationChanges, removalChanges } from '@warder/keys/testing'
import { Enumeration, enumeration, integer, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import { aesKey, keyOf, mask } from '../testing/keys.ts'
import { startKmipFixture } from '../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../testing/nodes.ts'
import { createAesKey, getAttributes, listIds } from '../testing/requests.ts'

const { kms, alice, bob } = await startKmipFixture()

const { Software, Hardware, OnSystem } = Enumeration.ProtectionStorageMask
const at = (value: number) => integer(Tag.ProtectionStorageMask, value)
const oneOf = (tag: number, ...values: readonly number[]) => structure(tag, values.map(at))
const { ProtectionStorageMasks: masks, CommonAttributes } = Tag
const symmetric = objectType('SymmetricKey')
const splitting = [
  integer(Tag.SplitKeyParts, 2),
  integer(Tag.SplitKeyThreshold, 2),
  enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
]
const half = keyOf('EC', 256)
const split = [objectType('SplitKey'), ...splitting]

/** ProtectionStorageMask of an object. */
const placeOf = async (id: string) =>
  (await getAttributes(alice, id)).find(({ tag }) => tag === Tag.ProtectionStorageMask)?.value

test('every operation that creates objects refuses an unavailable ProtectionStorageMask and accepts the available one', async () => {
  const parts = listIds(await alice.do('CreateSplitKey', [...split, aesAttributes()])).map((id) =>
    uid(String(id)),
  )
  const pairs = [
    Tag.CommonProtectionStorageMasks,
    Tag.PrivateProtectionStorageMasks,
    Tag.PublicProtectionStorageMasks,
  ].map((tag) => ['CreateKeyPair', [structure(CommonAttributes, half)], tag] as const)
  for (const [operation, members, tag] of [
    ['Create', [symmetric, aesAttributes()], masks],
    ['CreateSplitKey', [...split, aesAttributes()], masks],
    ['JoinSplitKey', [symmetric, ...parts, aesAttributes()], masks],
    ...pairs,
  ] as const) {
    for (const elsewhere of [oneOf(tag, Hardware), oneOf(tag, Software | Hardware), oneOf(tag)])
      await alice.fails(operation, [...members, elsewhere], 'ProtectionStorageUnavailable')
    await alice.do(operation, [...members, oneOf(tag, Hardware, Software | OnSystem)])
  }
})

test('an unavailable ProtectionStorageMask is also refused as an attribute, and no object has one', async () => {
  const key = aesKey(randomBytes(32))
  const asks = (node: TtlvNode) =>
    [
      ['Create', [symmetric, aesAttributes(256, node)]],
      ['CreateKeyPair', [structure(CommonAttributes, [...half, node])]],
      ['CreateKeyPair', [structure(CommonAttributes, half), structure(Tag.PublicKeyAttributes, [node])]],
      ['CreateSplitKey', [...split, aesAttributes(256, node)]],
      ['Register', [symmetric, attributes(mask('Encrypt'), node), key]],
    ] as const
  for (const elsewhere of [oneOf(masks, Hardware), at(Hardware), at(Software | Hardware), at(0)])
    for (const [operation, payload] of asks(elsewhere))
      await alice.fails(operation, payload, 'ProtectionStorageUnavailable')
  for (const here of [oneOf(masks, Hardware, Software), at(Software), at(Software | OnSystem)])
    for (const [operation, payload] of asks(here)) await alice.do(operation, payload)
})

test('an exported object is imported with all its attributes; an object of another server gets the storage of this one', async () => {
  const id = await createAesKey(alice)
  assert.equal(await placeOf(id), Software)
  const { nodes } = await alice.do('Export', [uid(id)])
  const [known, key] = [Tag.Attributes, Tag.SymmetricKey].map((wanted) =>
    nodes.find(({ tag }) => tag === wanted),
  )
  assert.ok(known?.type === 'Structure' && key !== undefined)
  assert.ok(known.value.some(({ tag }) => tag === Tag.ProtectionStorageMask))
  const own = known.value.filter(({ tag }) => tag !== Tag.UniqueIdentifier)
  await bob.do('Import', [uid('come-back'), symmetric, attributes(...own), key])
  const elsewhere = own.map((node) => (node.tag === Tag.ProtectionStorageMask ? at(Hardware) : node))
  const moved = await alice.do('Import', [uid('moved'), symmetric, attributes(...elsewhere), key])
  assert.equal(await placeOf(moved.id), Software)
  await alice.do('Register', [symmetric, attributes(mask('Encrypt'), at(Software)), key])
})

test('a key stored with a wrong ProtectionStorageMask can be replaced, and the new key has the right one', async () => {
  const id = await createAesKey(alice)
  const { db, seal } = kms.environment
  const object = await findObject(db, id as ObjectId)
  assert.ok(object)
  const wrong = attributeMembers([...readStoredAttributes(object), at(Hardware)], object)
  await db.commit(removalChanges(db, [object], object.createdAt))
  const again = { object: { ...object, ...wrong }, material: randomBytes(32), tags: [] }
  await db.commit(creationChanges(db, seal, [again], object.createdAt))
  assert.equal(await placeOf(id), Hardware)
  const replaced = await alice.do('ReKey', [uid(id)])
  assert.equal(await placeOf(replaced.id), Software)
})
