import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeItems, encodeSealRequest } from '@warder/covercrypt'
import { encodeBulkSealRequest } from '@warder/covercrypt/testing'
import { byteString, Tag } from '@warder/kmip-codec'
import { type Started, startKms } from '@warder/kms/testing'
import { AbeClient, bulk } from '../../testing/abe.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { uid } from '../../testing/nodes.ts'
import { usageLimits } from '../../testing/requests.ts'

const prefix = Uint8Array.of(0x87, 0x87)
const several = (items: readonly Uint8Array[]) => Buffer.concat([prefix, encodeItems(items)])
const request = (policy: string, text = policy) => encodeSealRequest({ policy, plaintext: Buffer.from(text) })

/** Takes the records of items that were made since the last time, as texts. */
function listItems(kms: Started): () => readonly string[] {
  let seen = 0
  return () => {
    const records = kms.audit.slice(seen)
    seen = kms.audit.length
    const items = records.filter(({ details }) => details?.item !== undefined)
    for (const { principal, object, request_id, algorithm } of items) {
      const whole = records.find((one) => one.request_id === request_id && one.details?.item === undefined)
      assert.deepEqual([principal, object, algorithm], [whole?.principal, whole?.object, whole?.algorithm])
    }
    return items.map(({ operation, details, outcome, reason }) =>
      [operation, details?.item, details?.policy, outcome, reason]
        .filter((one) => one !== undefined)
        .join(' '),
    )
  }
}

for (const mode of ['continue', 'reject'] as const)
  test(`each item of attribute-based data has its audit record in mode ${mode}`, async () => {
    await using kms = await startKms({ auditMode: mode })
    const alice = new AbeClient(kmipClient(kms.user('alice')))
    const { master, publicKey } = await alice.pair({ Team: ['Blue', 'Red'] })
    const blue = await alice.user(master, 'Team::Blue')
    const red = await alice.user(master, 'Team::Red')
    const items = listItems(kms)

    const texts = await alice.encryptBulk(publicKey, 'Team::Blue', ['first', '', 'third'])
    assert.deepEqual(
      items(),
      [0, 1, 2].map((item) => `kmip.Encrypt ${item} success`),
    )
    assert.notEqual(await alice.decrypt(blue, texts, bulk), undefined)
    assert.deepEqual(
      items(),
      [0, 1, 2].map((item) => `kmip.Decrypt ${item} success`),
    )

    const encrypt = (data: Uint8Array) =>
      alice.kmip.ask('Encrypt', [uid(publicKey), byteString(Tag.Data, data)])
    const sealed = await encrypt(several([request('Team::Blue || Team::Red'), request('Team::Blue')]))
    assert.deepEqual(items(), [
      'kmip.Encrypt 0 Team::Blue || Team::Red success',
      'kmip.Encrypt 1 Team::Blue success',
    ])
    const both = sealed.payload?.find(({ tag }) => tag === Tag.Data)?.value as Uint8Array
    assert.equal(await alice.decrypt(red, both), undefined)
    assert.deepEqual(items(), [
      'kmip.Decrypt 0 failure OperationUndone',
      'kmip.Decrypt 1 failure CryptographicFailure',
    ])
    for (const bad of [request('Team::Green'), Buffer.from([])]) {
      const { status, reason } = await encrypt(several([request('Team::Blue'), bad, request('Team::Red')]))
      assert.equal(status, 'OperationFailed')
      assert.deepEqual(items(), [
        'kmip.Encrypt 0 failure OperationUndone',
        `kmip.Encrypt 1 failure ${reason}`,
        'kmip.Encrypt 2 failure OperationUndone',
      ])
    }

    const one = {
      operation: 'Encrypt',
      payload: [uid(publicKey), byteString(Tag.Data, request('Team::Blue'))],
    } as const
    const two = {
      operation: 'Encrypt',
      payload: [uid(publicKey), byteString(Tag.Data, several([one.payload[1].value as Uint8Array]))],
    } as const
    const unknown = { operation: 'Get', payload: [uid('nothing')] } as const
    await alice.kmip.send([one, two, unknown], { batchErrorContinuation: 'Undo' })
    assert.deepEqual(items(), ['kmip.Encrypt 0 Team::Blue failure OperationUndone'])

    // A use that is counted is committed: in mode `reject` the records come before it.
    const limit = usageLimits(2n)
    const limited = (await alice.pair({ Team: ['Blue'] }, limit)).publicKey
    await alice.encryptBulk(limited, 'Team::Blue', ['a', 'b'])
    assert.deepEqual(items(), ['kmip.Encrypt 0 success', 'kmip.Encrypt 1 success'])
    if (mode === 'continue') return
    kms.breakAudit()
    const { status } = await encrypt(several([request('Team::Blue')]))
    assert.equal(status, 'OperationFailed')
  })

test('a message has at most 10,000 data items, and data without items have no record of an item', async () => {
  await using kms = await startKms({ auditMode: 'reject' })
  const alice = new AbeClient(kmipClient(kms.user('alice')))
  const { publicKey } = await alice.pair({ Team: ['Blue'] })
  const items = listItems(kms)
  const ask = (count: number) => {
    const plaintexts = Array.from({ length: count }, () => Buffer.alloc(0))
    const data = encodeBulkSealRequest({ policy: 'Team::Blue', plaintexts })
    return { operation: 'Encrypt', payload: [uid(publicKey), bulk, byteString(Tag.Data, data)] } as const
  }
  const answer = await alice.kmip.send([ask(6000), ask(4001), ask(4000)], {
    batchErrorContinuation: 'Continue',
  })
  assert.deepEqual(
    answer.items.map(({ status, reason }) => reason ?? status),
    ['Success', 'ServerLimitExceeded', 'Success'],
  )
  assert.equal(items().length, 10_000)
  const broken = several([request('Team::Blue')]).subarray(0, -1)
  assert.equal(
    (await alice.kmip.ask('Encrypt', [uid(publicKey), byteString(Tag.Data, broken)])).status,
    'OperationFailed',
  )
  assert.deepEqual(items(), [])
})

test('a JWE contains one text, even if it begins like several complete requests', async () => {
  await using kms = await startKms()
  const user = kms.user('alice')
  const alice = new AbeClient(kmipClient(user))
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] })
  const blue = await alice.user(master, 'Team::Blue')
  const data = several([request('Team::Blue', 'first'), request('Team::Blue', 'second')])
  const made = await alice.kmip.do('Encrypt', [uid(publicKey), byteString(Tag.Data, data)])
  const both = Buffer.from(made.get(Tag.Data) as Uint8Array)
  assert.notEqual(await alice.decrypt(blue, both), undefined)
  const part = (start: number, end?: number) => both.subarray(start, end).toString('base64url')
  const header = { alg: 'ABE', enc: 'A256GCM', kid: blue }
  const { json } = await user.post('/v1/crypto/decrypt', {
    protected: Buffer.from(JSON.stringify(header)).toString('base64url'),
    kid: blue,
    encrypted_key: part(0, -60),
    iv: part(-60, -48),
    ciphertext: part(-48, -16),
    tag: part(-16),
  })
  assert.equal(json.error, 'decryption_failed')
})
