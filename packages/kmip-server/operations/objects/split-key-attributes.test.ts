import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boolean,
  Enumeration,
  enumeration,
  integer,
  type StructureNode,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { algorithms, key16, startKmipFixture, use } from '../../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../../testing/nodes.ts'

const { alice, registerKey } = await startKmipFixture()

const splitting = [
  integer(Tag.SplitKeyParts, 3),
  integer(Tag.SplitKeyThreshold, 2),
  enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.PolynomialSharingGF28),
]

test('a split request with an identifier for its parts is refused, because all but one part would be lost', async () => {
  const chosen = textString(Tag.UniqueIdentifier, 'my-parts')
  const key = await registerKey(key16, 'AES')
  for (const about of [
    [objectType('SplitKey'), ...splitting, aesAttributes(256, chosen)],
    [objectType('SplitKey'), uid(key), ...splitting, attributes(chosen)],
  ]) {
    await alice.fails('CreateSplitKey', about, 'InvalidField')
    const { items } = await alice.send(
      [{ operation: 'Ping' }, { operation: 'CreateSplitKey', payload: about }],
      { batchErrorContinuation: 'Undo' },
    )
    assert.equal(items[1]?.reason, 'InvalidField')
  }
  await alice.fails('Get', [uid('my-parts')], 'ObjectNotFound')
})

async function partsOf(...about: readonly TtlvNode[]): Promise<readonly string[]> {
  const { nodes } = await alice.do('CreateSplitKey', about)
  return nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).map(({ value }) => value as string)
}
/** The values of some attributes. */
async function listValues(id: string, ...tags: readonly number[]): Promise<readonly unknown[]> {
  const references = tags.map((tag) => enumeration(Tag.AttributeReference, tag))
  const { nodes } = await alice.do('GetAttributes', [uid(id), ...references])
  const found = nodes.find(({ tag }) => tag === Tag.Attributes) as StructureNode
  return tags.map((wanted) => found.value.find(({ tag }) => tag === wanted)?.value)
}

test('KMIP 2.1 §6.1.10: attributes in a request to split an existing key are ignored', async () => {
  const key = await registerKey(key16, 'AES', integer(Tag.CryptographicUsageMask, use.Encrypt))
  const asked = attributes(
    enumeration(Tag.CryptographicAlgorithm, algorithms.Camellia),
    integer(Tag.CryptographicLength, 256),
    integer(Tag.CryptographicUsageMask, use.Sign),
  )
  const parts = await partsOf(objectType('SplitKey'), uid(key), ...splitting, asked)
  assert.equal(parts.length, 3)
  for (const id of parts)
    assert.deepEqual(
      await listValues(id, Tag.CryptographicAlgorithm, Tag.CryptographicLength, Tag.CryptographicUsageMask),
      [algorithms.AES, 128, use.Encrypt],
    )
  const joined = await alice.do('JoinSplitKey', [
    objectType('SymmetricKey'),
    ...parts.slice(1).map(uid),
    aesAttributes(128),
  ])
  assert.deepEqual(await listValues(joined.id, Tag.CryptographicLength), [128])
})

test('KMIP 2.1 §4.3: parts of a Sensitive key, and keys joined from them, are AlwaysSensitive', async () => {
  const hidden = boolean(Tag.Sensitive, true)
  const shown = boolean(Tag.Sensitive, false)
  const key = await registerKey(key16, 'AES', hidden)
  for (const said of [[], [shown], [hidden]]) {
    const parts = await partsOf(objectType('SplitKey'), uid(key), ...splitting, attributes(...said))
    const joined = await alice.do('JoinSplitKey', [
      objectType('SymmetricKey'),
      ...parts.slice(1).map(uid),
      aesAttributes(128, ...said),
    ])
    for (const id of [...parts, joined.id])
      assert.deepEqual(await listValues(id, Tag.Sensitive, Tag.AlwaysSensitive), [true, true])
    const [found] = await listValues(parts[0] ?? '', Tag.Link)
    assert.match(JSON.stringify(found), new RegExp(key), 'a part leads to its key')
  }
  const open = await registerKey(key16, 'AES')
  for (const id of await partsOf(objectType('SplitKey'), uid(open), ...splitting, attributes()))
    assert.deepEqual(await listValues(id, Tag.Sensitive, Tag.AlwaysSensitive), [false, false])
})
