import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteString, Enumeration, enumeration, integer, Tag, textString } from '@warder/kmip-codec'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'

const { alice } = await startKmipFixture()

test('Ping, Log and every step of Interop have an empty response', async () => {
  assert.deepEqual((await alice.do('Ping')).nodes, [])
  assert.deepEqual((await alice.do('Log', [textString(Tag.LogMessage, 'tape 4 changed')])).nodes, [])
  for (const step of Object.values(Enumeration.InteropFunction)) {
    const payload = [enumeration(Tag.InteropFunction, step), textString(Tag.InteropIdentifier, 'AX-M-1')]
    assert.deepEqual((await alice.do('Interop', payload)).nodes, [])
  }
  await alice.fails('Log', [], 'MissingData')
  await alice.fails('Log', [textString(Tag.LogMessage, 'x'.repeat(4097))], 'InvalidField')
  await alice.fails('Interop', [enumeration(Tag.InteropFunction, 99)], 'InvalidField')
})

test('RNGRetrieve returns the requested number of fresh bytes, whatever a client seeds', async () => {
  const retrieve = async (length: number) => {
    const bytes = (await alice.do('RNGRetrieve', [integer(Tag.DataLength, length)])).get(Tag.Data)
    assert.ok(bytes instanceof Uint8Array)
    assert.equal(bytes.length, length)
    return Buffer.from(bytes)
  }
  assert.notDeepEqual(await retrieve(32), await retrieve(32))
  await retrieve(1)
  await retrieve(65_536)
  for (const length of [0, -1, 65_537])
    await alice.fails('RNGRetrieve', [integer(Tag.DataLength, length)], 'InvalidField')
  const seeded = await alice.do('RNGSeed', [byteString(Tag.Data, Buffer.alloc(32, 1))])
  assert.equal(seeded.get(Tag.DataLength), 0)
  await alice.fails('RNGSeed', [byteString(Tag.Data, Buffer.alloc(65_537))], 'InvalidField')
  await alice.fails('RNGSeed', [], 'MissingData')
})
