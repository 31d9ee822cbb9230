import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { boolean, byteString, integer, Tag } from '@warder/kmip-codec'
import { openStreams } from '../../streams/stream-store.ts'
import { uid } from '../../testing/nodes.ts'
import { bytesOf, data, hashing, parameters, startCryptoWorld } from '../fixtures/crypto-world.ts'

const world = await startCryptoWorld()
after(() => world.kms[Symbol.asyncDispose]())

test('a digest is made of whole data: it is refused in every part, and nothing stays open', async () => {
  const { priv, pub } = await world.pair('RSA', integer(Tag.CryptographicLength, 2048))
  const sha = parameters(hashing('SHA_256'))
  const bytes = randomBytes(40)
  const digest = byteString(Tag.DigestedData, createHash('sha256').update(bytes).digest())
  const init = boolean(Tag.InitIndicator, true)
  const final = boolean(Tag.FinalIndicator, true)
  const signed = await world.alice.do('Sign', [uid(priv), sha, digest])
  const signature = byteString(Tag.SignatureData, bytesOf(signed, Tag.SignatureData))
  for (const [operation, ...about] of [
    ['Sign', uid(priv), sha],
    ['SignatureVerify', uid(pub), sha, signature],
  ] as const) {
    const open = () => openStreams(world.kms.services.db, 'alice', world.clock.now)
    await world.alice.fails(operation, [...about, digest, init], 'InvalidField')
    await world.alice.fails(operation, [...about, data(bytes), digest, init], 'InvalidField')
    assert.equal(await open(), 0)
    const first = await world.alice.do(operation, [...about, data(bytes), init])
    const key = about[0]
    const next = byteString(Tag.CorrelationValue, bytesOf(first, Tag.CorrelationValue))
    await world.alice.fails(operation, [key, digest, next], 'InvalidField')
    await world.alice.fails(operation, [key, digest, next, final], 'InvalidField')
    await world.alice.do(operation, [key, next, final])
    assert.equal(await open(), 0)
  }
})
