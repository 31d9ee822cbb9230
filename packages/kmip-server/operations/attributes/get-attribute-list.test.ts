import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributeIn, findAttribute, type KmipVersion, Tag } from '@warder/kmip-codec'
import { activeSince } from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { uid } from '../../testing/nodes.ts'
import { createAesKey } from '../../testing/requests.ts'

const { kms, alice } = await startKmipFixture()

test("GetAttributeList names no attribute that is newer than the client's version", async () => {
  const id = await createAesKey(alice, activeSince)
  const made = await alice.do('ReKey', [uid(id)])
  const named = async (version: KmipVersion) => {
    const { nodes } = await kmipClient(kms.user('alice'), { version }).do('GetAttributeList', [uid(made.id)])
    return nodes.filter(({ tag }) => tag === Tag.AttributeReference).map(({ value }) => Number(value))
  }
  assert.ok((await named('2.1')).includes(Tag.RotateGeneration))
  const known = await named('2.0')
  assert.ok(known.includes(Tag.UniqueIdentifier))
  const newer = known.filter((tag) => {
    const row = findAttribute(tag)
    return row === undefined || !attributeIn('2.0', row)
  })
  assert.deepEqual(newer, [])
})
