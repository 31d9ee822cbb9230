import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Enumeration, Tag } from '@warder/kmip/tables'
import { enumeration, integer, textString } from '@warder/kmip/ttlv'
import { aesAttributes, attributes, objectType, uid } from '../testing/index.ts'
import { type CryptoWorld, key16, startCryptoWorld } from './fixtures/crypto-world.ts'

let world: CryptoWorld
before(async () => {
  world = await startCryptoWorld()
})
after(() => world.kms[Symbol.asyncDispose]())

const splitting = [
  integer(Tag.SplitKeyParts, 3),
  integer(Tag.SplitKeyThreshold, 2),
  enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.PolynomialSharingGF28),
]

test('parts do not share an identifier that the client chooses: all but one would be lost', async () => {
  const chosen = textString(Tag.UniqueIdentifier, 'my-parts')
  const key = await world.registered(key16, 'AES')
  for (const about of [
    [objectType('SplitKey'), ...splitting, aesAttributes(256, chosen)],
    [objectType('SplitKey'), uid(key), ...splitting, attributes(chosen)],
  ]) {
    await world.alice.fails('CreateSplitKey', about, 'InvalidField')
    const { items } = await world.alice.send(
      [{ operation: 'Ping' }, { operation: 'CreateSplitKey', payload: about }],
      { batchErrorContinuation: 'Undo' },
    )
    assert.equal(items[1]?.reason, 'InvalidField')
  }
  await world.alice.fails('Get', [uid('my-parts')], 'ObjectNotFound')
})
