import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { boolean, byteString, integer, Tag } from '@warder/kmip-codec'
import { openStreams } from '../../streams/stream-store.ts'
import { data, hashing, parameters, readBytes, startKmipFixture } from '../../testing/kmip-fixture.ts'
import { uid } from '../../testing/nodes.ts'

const { kms, alice, createPair } = await startKmipFixture()

test('digested data are refused in every part of a stream, and no stream stays open', async () => {
  const { priv, pub } = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
  const sha = parameters(hashing('SHA_256'))
  const bytes = randomBytes(40)
  const digest = byteString(Tag.DigestedData, createHash('sha256').update(bytes).digest())
  const init = boolean(Tag.InitIndicator, true)
  const final = boolean(Tag.FinalIndicator, true)
  const signed = await alice.do('Sign', [uid(priv), sha, digest])
  const signature = byteString(Tag.SignatureData, readBytes(signed, Tag.SignatureData))
  for (const [operation, ...about] of [
    ['Sign', uid(priv), sha],
    ['SignatureVerify', uid(pub), sha, signature],
  ] as const) {
    const open = () => openStreams(kms.services.db, 'alice', Date.now())
    await alice.fails(operation, [...about, digest, init], 'InvalidField')
    await alice.fails(operation, [...about, data(bytes), digest, init], 'InvalidField')
    assert.equal(await open(), 0)
    const first = await alice.do(operation, [...about, data(bytes), init])
    const key = about[0]
    const next = byteString(Tag.CorrelationValue, readBytes(first, Tag.CorrelationValue))
    await alice.fails(operation, [key, digest, next], 'InvalidField')
    await alice.fails(operation, [key, digest, next, final], 'InvalidField')
    await alice.do(operation, [key, next, final])
    assert.equal(await open(), 0)
  }
})
