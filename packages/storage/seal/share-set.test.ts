import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createShareSet } from './create-share-set.ts'
import { findShareTexts } from './share.ts'
import { ShareCollection, type ShareProblem } from './share-collection.ts'
import { decodeShareSet, encodeShareSet, type ShareSet } from './share-set.ts'
import { unwrapWithSet, wrapForSet } from './share-set-wrap.ts'

const holders = ['anna', 'ben', 'carl', 'dora', 'emil'].map((name) => ({ name, recipient: `age1${name}` }))
const make = (count = 5, threshold = 3, installation = 'warder.example') =>
  createShareSet({ installation, threshold, holders: holders.slice(0, count), now: 1_800_000_000_000 })

function problem(collection: ShareCollection, text: string): ShareProblem | undefined {
  const outcome = collection.add(text)
  return outcome.accepted ? undefined : outcome.problem
}

async function combine(set: ShareSet, shares: readonly (string | undefined)[]) {
  const collection = new ShareCollection(set)
  for (const share of shares) assert.equal(problem(collection, share ?? ''), undefined)
  return collection.combine()
}

test('any three of five shares open what was encrypted for their set, and two do not', async () => {
  const { set, shares } = await make()
  const [key, context] = [randomBytes(32), Buffer.from('auth database')]
  const wrapped = wrapForSet(set, key, context)
  for (let one = 0; one < 5; one += 1)
    for (let two = one + 1; two < 5; two += 1) {
      await assert.rejects(combine(set, [shares[one], shares[two]]), /1 more shares are needed/)
      for (let three = two + 1; three < 5; three += 1) {
        const secret = await combine(set, [shares[three], shares[one], shares[two]])
        assert.deepEqual(
          unwrapWithSet(set, secret, wrapped, context).use((bytes) => Buffer.from(bytes)),
          key,
        )
        assert.throws(() => unwrapWithSet(set, secret, wrapped, Buffer.from('kms database')), /was changed/)
      }
    }
})

test('sets of all sizes open: two of two, and 32 of 32', async () => {
  for (const [count, threshold] of [
    [2, 2],
    [32, 32],
    [32, 2],
  ] as const) {
    const many = Array.from({ length: count }, (_, index) => ({
      name: `h${index}`,
      recipient: `age1${index}`,
    }))
    const { set, shares } = await createShareSet({ installation: 'x', threshold, holders: many, now: 0 })
    await combine(set, shares.slice(-threshold))
    assert.ok(
      encodeShareSet({ set, wrapped: wrapForSet(set, randomBytes(32), Buffer.alloc(60)) }).length < 16_384,
    )
  }
})

test('a share of another set, one that was entered before, a forged and a mistyped one are each named', async () => {
  const [{ set, shares }, other] = [await make(), await make(5, 3, 'test installation')]
  const collection = new ShareCollection(set)
  const [first = '', second = ''] = shares
  assert.deepEqual(collection.add(first), { accepted: true, number: 1 })
  const refused = collection.add(other.shares[1] ?? '')
  assert.ok(!refused.accepted)
  assert.equal(
    refused.message,
    `This share is of set ${other.set.id.slice(0, 8)} of test installation: enter one of set ${set.id.slice(0, 8)} of warder.example.`,
  )
  assert.equal(problem(collection, first), 'repeated')
  for (let at = 0; at < second.length; at += 7) {
    const changed = second.slice(0, at) + (second[at] === 'A' ? 'B' : 'A') + second.slice(at + 1)
    assert.equal(problem(collection, changed), 'malformed', `character ${at}`)
  }
  for (const text of [
    '',
    'warder-share-1.',
    second.slice(0, -1),
    `${second}A`,
    ` ${second}`,
    'x'.repeat(9999),
  ])
    assert.equal(problem(collection, text), 'malformed')
  assert.equal(collection.entered, 1)
  assert.deepEqual(collection.holders, ['anna'])
})

/** Encodes any content as a share with a correct header and checksum. */
async function forge(set: ShareSet, change: (payload: Buffer) => void): Promise<string> {
  const { createHash } = await import('node:crypto')
  const payload = Buffer.concat([
    Buffer.of(1),
    Buffer.from(set.id, 'hex'),
    Buffer.of(2, set.threshold),
    randomBytes(32),
    Buffer.from(set.installation),
  ])
  change(payload)
  const sum = createHash('sha256').update('warder share checksum').update(payload).digest().subarray(0, 4)
  return `warder-share-1.${Buffer.concat([payload, sum]).toString('base64url')}`
}

test('forged shares are refused when they are entered, and a thousand of them displace no share', async () => {
  const { set, shares } = await make()
  const collection = new ShareCollection(set)
  assert.equal(problem(collection, shares[0] ?? ''), undefined)
  for (let index = 0; index < 1000; index += 1)
    assert.equal(
      problem(collection, await forge(set, (payload) => payload.writeUInt8(index % 256, 17))),
      'forged',
    )
  assert.equal(problem(collection, await forge(set, (payload) => payload.writeUInt8(1, 18))), 'forged')
  assert.equal(
    problem(collection, await forge(set, (payload) => payload.write('X', payload.length - 1))),
    'forged',
  )
  assert.equal(collection.entered, 1)
  for (const share of shares.slice(1, 3)) assert.equal(problem(collection, share), undefined)
  await collection.combine()
  assert.equal(problem(collection, shares[2] ?? ''), 'repeated')
})

test('wiped shares are gone, and can be entered again', async () => {
  const { set, shares } = await make(2, 2)
  const collection = new ShareCollection(set)
  for (const share of shares) collection.add(share)
  assert.ok(collection.isComplete)
  collection.wipe()
  assert.equal(collection.entered, 0)
  await assert.rejects(collection.combine(), /2 more shares/)
  for (const share of shares) assert.equal(problem(collection, share), undefined)
  collection.remove(2)
  assert.deepEqual(collection.holders, ['anna'])
  await assert.rejects(collection.combine(), /1 more/)
})

test('no input but a share is accepted, and no input throws', async () => {
  const { set } = await make()
  const collection = new ShareCollection(set)
  const like = fc.tuple(fc.uint8Array({ maxLength: 200 })).map(([bytes]) => {
    return `warder-share-1.${Buffer.from(bytes).toString('base64url')}`
  })
  fc.assert(
    fc.property(fc.oneof(fc.string(), like), (text) => {
      assert.ok(!collection.add(text).accepted)
    }),
  )
})

test('shares are found in pasted text', async () => {
  const { shares } = await make()
  const [one = '', two = ''] = shares
  assert.deepEqual(findShareTexts(`Share 1:\r\n  ${one}\n\n# ${two}\n`), [one, two])
  assert.deepEqual(findShareTexts('nothing'), [])
})

test('a set needs two holders with names and recipients of their own, and a threshold', async () => {
  const [anna, ben] = holders
  assert.ok(anna !== undefined && ben !== undefined)
  const set = { installation: 'x', threshold: 2, holders: [anna, ben], now: 0 }
  for (const [wrong, message] of [
    [{ ...set, holders: [anna] }, /need 2 to 32 holders, not 1/],
    [{ ...set, threshold: 1 }, /must be 2 to 2/],
    [{ ...set, threshold: 3 }, /must be 2 to 2/],
    [{ ...set, holders: [anna, { ...ben, name: 'Anna' }] }, /two holders have the name anna/],
    [{ ...set, holders: [anna, { ...ben, recipient: anna.recipient }] }, /two holders have the recipient/],
    [{ ...set, installation: '' }, /name of the installation/],
    [{ ...set, installation: 'a\nb' }, /name of the installation/],
  ] as const)
    await assert.rejects(createShareSet(wrong), message)
})

test('a row that is no set is refused', async () => {
  const { set } = await make()
  const wrapped = wrapForSet(set, randomBytes(32), Buffer.alloc(1))
  const row = JSON.parse(encodeShareSet({ set, wrapped }).toString()) as Record<string, unknown>
  assert.deepEqual(decodeShareSet(encodeShareSet({ set, wrapped })), { set, wrapped })
  for (const change of [
    { id: 'x' },
    { threshold: 1 },
    { threshold: 6 },
    { holders: {} },
    { holders: [{ name: 'a\u001b', check: '' }] },
    { publicKey: 7 },
    { wrapped: null },
    { installation: '\u202e' },
  ])
    assert.throws(() => decodeShareSet(Buffer.from(JSON.stringify({ ...row, ...change }))), /cannot be read/)
  assert.throws(() => decodeShareSet(Buffer.from('{')), /cannot be read/)
})
