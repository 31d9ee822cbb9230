import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { boolean, byteString, Tag } from '@warder/kmip-codec'
import { bothEngines, startTwoNodes } from '@warder/kms/testing'
import { kmipClient } from '../testing/kmip-client.ts'
import { data, hashing, iv, kmipFixture, mode, parameters, readBytes } from '../testing/kmip-fixture.ts'
import { uid } from '../testing/nodes.ts'
import { usageLimits } from '../testing/requests.ts'

const init = boolean(Tag.InitIndicator, true)
const final = boolean(Tag.FinalIndicator, true)

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: each accepts the next part of a stream, and limits apply to both together`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const { alice, registerKey } = kmipFixture(nodes.near)
    const here = alice
    const there = kmipClient(nodes.onFar('alice'))
    const id = await registerKey(randomBytes(32), 'AES')

    const text = randomBytes(100)
    const asked = parameters(mode('GCM'))
    const first = await here.do('Encrypt', [uid(id), asked, data(text.subarray(0, 33)), init])
    const correlation = byteString(Tag.CorrelationValue, readBytes(first, Tag.CorrelationValue))
    const second = await there.do('Encrypt', [uid(id), data(text.subarray(33, 60)), correlation])
    const third = await here.do('Encrypt', [uid(id), data(text.subarray(60)), correlation, final])
    await there.fails('Encrypt', [uid(id), data(text), correlation, final], 'InvalidCorrelationValue')
    const sealed = Buffer.concat([first, second, third].map((part) => readBytes(part, Tag.Data)))
    const tag = byteString(Tag.AuthenticatedEncryptionTag, readBytes(third, Tag.AuthenticatedEncryptionTag))
    const nonce = iv(readBytes(first, Tag.IVCounterNonce))
    const opened = await there.do('Decrypt', [uid(id), asked, data(sealed), nonce, tag])
    assert.deepEqual(readBytes(opened, Tag.Data), text)

    const zeros = Buffer.alloc(16)
    const ctr = await here.do('Encrypt', [uid(id), parameters(mode('CTR')), data(zeros), init])
    const stream = byteString(Tag.CorrelationValue, readBytes(ctr, Tag.CorrelationValue))
    const raced = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 === 0 ? here : there).do('Encrypt', [uid(id), data(zeros), stream]),
      ),
    )
    const all = await here.do('Encrypt', [
      uid(id),
      parameters(mode('CTR')),
      data(Buffer.alloc(9 * 16)),
      iv(readBytes(ctr, Tag.IVCounterNonce)),
    ])
    const blocks = Array.from({ length: 9 }, (_, index) =>
      readBytes(all, Tag.Data)
        .subarray(index * 16, index * 16 + 16)
        .toString('hex'),
    )
    assert.deepEqual(
      [ctr, ...raced].map((part) => readBytes(part, Tag.Data).toString('hex')).sort(),
      blocks.sort(),
      'no two parts were encrypted at the same place of the stream',
    )

    const begun = await here.do('Hash', [parameters(hashing('SHA_256')), data(text), init])
    const same = byteString(Tag.CorrelationValue, readBytes(begun, Tag.CorrelationValue))
    const parts = await Promise.all(
      [here, there, here, there].map((node) => node.ask('Hash', [data(text), same])),
    )
    assert.deepEqual(
      parts.map(({ status }) => status),
      ['Success', 'Success', 'Success', 'Success'],
    )
    const whole = await here.do('Hash', [
      parameters(hashing('SHA_256')),
      data(Buffer.concat(Array(5).fill(text))),
    ])
    const joined = await there.do('Hash', [same, final])
    assert.deepEqual(
      readBytes(joined, Tag.Data),
      readBytes(whole, Tag.Data),
      'parts at the same time are all there, once',
    )

    const limited = await registerKey(randomBytes(16), 'AES', usageLimits(5n))
    const uses = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? here : there).ask('Encrypt', [uid(limited), data(text)]),
      ),
    )
    assert.equal(uses.filter(({ status }) => status === 'Success').length, 5)
  })
}
