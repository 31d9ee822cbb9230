import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  longInteger,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { attributes, kmipClient, objectType, uid } from '@warder/kmip-server/testing'
import { startSharedKms } from '../testing/start.ts'

let now = Date.now()
const kms = await startSharedKms({ clock: { now: () => now, monotonic: () => performance.now() } })
const alice = kms.user('alice')
const kmip = kmipClient(alice)

const text = 'attack at dawn'
const data = Buffer.from(text).toString('base64url')
const { CryptographicAlgorithm, CryptographicUsageMask: use, UsageLimitsUnit } = Enumeration
const seconds = () => Math.floor(now / 1000)

/** A secret key of KMIP, Active already. */
async function create(algorithm: 'AES' | 'HMAC_SHA256', ...more: readonly TtlvNode[]): Promise<string> {
  const { id } = await kmip.do('Create', [
    objectType('SymmetricKey'),
    attributes(
      enumeration(Tag.CryptographicAlgorithm, CryptographicAlgorithm[algorithm]),
      integer(Tag.CryptographicLength, 256),
      integer(Tag.CryptographicUsageMask, use.Encrypt | use.Decrypt | use.MACGenerate | use.MACVerify),
      dateTime(Tag.ActivationDate, seconds() - 7200),
      ...more,
    ),
  ])
  return id
}

const limits = (total: bigint, unit: number) =>
  structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, total),
    enumeration(Tag.UsageLimitsUnit, unit),
  ])
const encrypt = (kid: string) => alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })

test('usage limits count operations over REST, also concurrent ones', async () => {
  const kid = await create('AES', limits(5n, UsageLimitsUnit.Object))
  const answers = await Promise.all(Array.from({ length: 9 }, () => encrypt(kid)))
  const done = answers.filter(({ status }) => status === 200)
  assert.equal(done.length, 5)
  for (const { status, json } of answers) if (status !== 200) assert.equal(json.error, 'crypto_failure')
  // Reading is not counted, and KMIP counts the same uses.
  assert.equal((await alice.post('/v1/crypto/decrypt', done[0]?.json)).json.data, data)
  await kmip.fails('Encrypt', [uid(kid), byteString(Tag.Data, Buffer.from(text))], 'PermissionDenied')
})

test('items of a batch are counted one by one, by bytes if the limit is in bytes', async () => {
  const kid = await create('HMAC_SHA256', limits(BigInt(text.length * 3), UsageLimitsUnit.Byte))
  const operations = Array.from({ length: 20 }, () => ({ op: 'mac', kid, alg: 'HS256', data }))
  const { results } = (await alice.post('/v1/crypto/batch', { operations })).json
  assert.equal(results.filter(({ status }: { status: number }) => status === 200).length, 3)
  assert.equal(results.filter(({ error }: { error?: string }) => error === 'crypto_failure').length, 17)
})

test('ProtectStopDate and ProcessStartDate apply over REST', async () => {
  const stopped = await create('AES', dateTime(Tag.ProtectStopDate, seconds() + 60))
  const later = await create('AES', dateTime(Tag.ProcessStartDate, seconds() + 60))
  const sealed = [await encrypt(stopped), await encrypt(later)]
  assert.deepEqual(
    sealed.map(({ status }) => status),
    [200, 200],
  )
  const before = await alice.post('/v1/crypto/decrypt', sealed[1]?.json)
  assert.deepEqual([before.status, before.json.error], [422, 'crypto_failure'])
  now += 90_000
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed[1]?.json)).json.data, data)
  const refused = await encrypt(stopped)
  assert.deepEqual([refused.status, refused.json.error], [422, 'crypto_failure'])
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed[0]?.json)).json.data, data)
})

test('an archived key is refused until it is recovered', async () => {
  const kid = await create('AES')
  const sealed = (await encrypt(kid)).json
  await kmip.do('Archive', [uid(kid)])
  for (const answer of [await encrypt(kid), await alice.post('/v1/crypto/decrypt', sealed)])
    assert.deepEqual([answer.status, answer.json.error], [422, 'crypto_failure'])
  await kmip.do('Recover', [uid(kid)])
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).json.data, data)
})

test('REST shows a KMIP key with its operations over REST', async () => {
  const opsOf = async (kid: string) => (await alice.get(`/v1/crypto/keys/${kid}`)).json.key_ops
  assert.deepEqual(await opsOf(await create('AES')), ['encrypt', 'decrypt'])
  assert.deepEqual(await opsOf(await create('HMAC_SHA256')), ['sign', 'verify'])
})
