import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { decodeUserKey } from '@warder/covercrypt'
import { AbeClient, kmipClient } from '@warder/kmip-server/testing'
import { grant } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()

type Json = Readonly<Record<string, unknown>>
const url = (text: string): string => Buffer.from(text).toString('base64url')
const alice = () => kms.user('alice')
const bob = () => kms.user('bob')
const access_structure = { 'Level::<': ['low', 'high::+'], Team: ['blue', 'red'] }
const keys = '/v1/crypto/keys'

async function made(body: Json, caller = alice()): Promise<Readonly<Record<string, string>>> {
  const reply = await caller.post(keys, { kty: 'ABE', ...body })
  assert.equal(reply.status, 200, reply.text)
  return reply.json
}

async function pair(): Promise<{ master: string; publicKey: string; digest: string }> {
  const { kid, kid_public, digest } = await made({ access_structure })
  return { master: kid as string, publicKey: kid_public as string, digest: digest as string }
}

const userKey = async (master: string, policy: string, more: Json = {}) =>
  (await made({ master, policy, ...more })).kid as string

async function encrypt(kid: string, policy: string, text: string, aad?: string): Promise<Json> {
  const body = {
    kid,
    alg: 'ABE',
    enc: 'A256GCM',
    policy,
    data: url(text),
    ...(aad !== undefined && { aad: url(aad) }),
  }
  const reply = await alice().post('/v1/crypto/encrypt', body)
  assert.equal(reply.status, 200, reply.text)
  return reply.json
}

const decrypt = (kid: string, jwe: Json, caller = alice()) =>
  caller.post('/v1/crypto/decrypt', { ...jwe, kid })

async function reads(kid: string, jwe: Json): Promise<string | undefined> {
  const { status, json, text } = await decrypt(kid, jwe)
  if (status === 200) return Buffer.from(json.data, 'base64url').toString()
  assert.deepEqual([status, json.error], [422, 'decryption_failed'], text)
  return undefined
}

test('only user keys whose policy matches decrypt', async () => {
  const { master, publicKey, digest } = await pair()
  const high = await userKey(master, 'Level::high && Team::blue')
  const low = await userKey(master, 'Level::low', { tags: ['reader'], ext: false })
  const secret = await encrypt(publicKey, 'Level::high && Team::blue', 'secret', 'context')
  const plain = await encrypt(publicKey, '(Team::blue && Level::low) || Team::red', 'plain')
  assert.deepEqual(Object.keys(secret), ['protected', 'encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'])
  assert.deepEqual(JSON.parse(Buffer.from(secret.protected as string, 'base64url').toString()), {
    alg: 'ABE',
    enc: 'A256GCM',
    kid: publicKey,
  })
  assert.deepEqual([await reads(high, secret), await reads(low, secret)], ['secret', undefined])
  assert.deepEqual([await reads(high, plain), await reads(low, plain)], ['plain', 'plain'])
  for (const altered of ['encrypted_key', 'iv', 'ciphertext', 'tag', 'aad']) {
    const bytes = Buffer.from(secret[altered] as string, 'base64url')
    bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1
    assert.equal(await reads(high, { ...secret, [altered]: bytes.toString('base64url') }), undefined, altered)
  }
  const published = await new AbeClient(kmipClient(alice())).get(publicKey)
  assert.equal(digest, createHash('sha256').update(published).digest('base64url'))
  const shown = (await alice().get(`${keys}/${low}`)).json
  assert.deepEqual([shown.kty, shown.key_ops, shown.ext, shown.tags], ['ABE', ['decrypt'], false, ['reader']])
  assert.deepEqual([shown.abe.kind, shown.abe.policy, shown.abe.master], ['user', 'Level::low', master])
  assert.deepEqual((await alice().get(`${keys}/${publicKey}`)).json.abe, { kind: 'public', digest })
})

test('attribute-based keys and ciphertexts work over both REST and KMIP', async () => {
  const { master, publicKey } = await pair()
  const kmip = new AbeClient(kmipClient(alice()))
  const ours = await userKey(master, 'Team::blue')
  const theirs = await kmip.user(master, 'Team::blue')
  const jwe = await encrypt(publicKey, 'Team::blue', 'from REST')
  const joined = ['encrypted_key', 'iv', 'ciphertext', 'tag'].map((name) =>
    Buffer.from(jwe[name] as string, 'base64url'),
  )
  assert.equal(await kmip.decrypt(theirs, Buffer.concat(joined)), 'from REST')
  assert.equal(await reads(theirs, jwe), 'from REST')
  assert.equal(
    await kmip.decrypt(ours, await kmip.encrypt(publicKey, 'Team::blue', 'from KMIP')),
    'from KMIP',
  )
  decodeUserKey(await kmip.get(ours))
})

test('the right rekey does not permit renames, and a name is never reassigned to another attribute', async () => {
  const { master, publicKey } = await pair()
  for (const kid of [master, publicKey]) {
    await grant(alice(), kid, 'mallory', 'rekey')
  }
  const rotate = (body: Json, caller = alice()) => caller.post(`${keys}/${master}/rotate`, body)
  const mallory = kms.user('mallory')
  const swap = {
    RenameAttribute: [
      ['Level::high', 'old'],
      ['Level::low', 'high'],
    ],
  }
  const edits: Json[] = [
    swap,
    { RenameAttribute: [['Level::high', 'old']] },
    { DeleteAttribute: ['Level::high'] },
    { AddAttribute: [['Level::lowest', 'Classic', null]] },
  ]
  for (const edit of edits) assert.equal((await rotate(edit, mallory)).status, 403, JSON.stringify(edit))
  assert.equal((await rotate({ RekeyAccessPolicy: 'Level::low' }, mallory)).status, 200)
  const low = await userKey(master, 'Level::low')
  assert.notEqual((await rotate(swap)).status, 200, 'of the owner, too')
  assert.equal((await rotate({ RenameAttribute: [['Level::high', 'top']] })).status, 200)
  assert.notEqual((await rotate({ RenameAttribute: [['Level::low', 'high']] })).status, 200)
  assert.notEqual((await rotate({ AddAttribute: [['Level::high', 'Classic', null]] })).status, 200)
  assert.equal((await rotate({ RenameAttribute: [['Level::top', 'high']] })).status, 200, 'its own name')
  assert.equal((await rotate({ DeleteAttribute: ['Level::high'] })).status, 200)
  assert.notEqual((await rotate({ AddAttribute: [['Level::high', 'Classic', null]] })).status, 200)
  assert.equal(await reads(low, await encrypt(publicKey, 'Level::low', 'x')), 'x')
})

test('a rotation refreshes user keys, and the structure lists attributes, user keys and the keys that read a policy', async () => {
  const { master, publicKey, digest } = await pair()
  const blue = await userKey(master, 'Team::blue')
  const old = await encrypt(publicKey, 'Team::blue', 'old')
  const rotate = (body: Json, caller = alice()) => caller.post(`${keys}/${master}/rotate`, body)
  const rekeyed = await rotate({ RekeyAccessPolicy: 'Team::blue' })
  assert.equal(rekeyed.status, 200, rekeyed.text)
  assert.deepEqual(
    [rekeyed.json.kid, rekeyed.json.kid_public, rekeyed.json.refreshed, rekeyed.json.not_refreshed],
    [master, publicKey, [blue], []],
  )
  assert.notEqual(rekeyed.json.digest, digest)
  const fresh = await encrypt(publicKey, 'Team::blue', 'fresh')
  assert.deepEqual([await reads(blue, old), await reads(blue, fresh)], ['old', 'fresh'])
  await rotate({ PruneAccessPolicy: 'Team::blue' })
  assert.deepEqual([await reads(blue, old), await reads(blue, fresh)], [undefined, 'fresh'])
  await rotate({ AddAttribute: [['Team::green', 'Classic', null]] })
  await rotate({ RenameAttribute: [['Team::red', 'crimson']] })
  await rotate({ DisableAttribute: ['Team::crimson'] })
  await rotate({ DeleteAttribute: ['Level::high'] })
  const structure = await alice().get(`${keys}/${master}/structure`)
  assert.equal(structure.status, 200, structure.text)
  assert.deepEqual(structure.json.dimensions, [
    { name: 'Level', ordered: true, attributes: [{ name: 'low', mode: 'Classic', enabled: true }] },
    {
      name: 'Team',
      ordered: false,
      attributes: [
        { name: 'blue', mode: 'Classic', enabled: true },
        { name: 'crimson', mode: 'Classic', enabled: false },
        { name: 'green', mode: 'Classic', enabled: true },
      ],
    },
  ])
  const shown = { kid: blue, owner: 'alice', state: 'Active', policy: 'Team::blue' }
  assert.deepEqual(structure.json.user_keys, [{ ...shown, reads: ['Level::low', 'Team::blue'] }])
  for (const [policy, opens] of [
    ['Team::blue && Level::low', true],
    ['Team::green', false],
  ] as const) {
    const asked = await alice().get(`${keys}/${master}/structure?policy=${encodeURIComponent(policy)}`)
    assert.equal(asked.json.user_keys[0].opens, opens, policy)
  }
  assert.equal((await alice().get(`${keys}/${master}/structure?policy=Team`)).status, 400)
  for (const [body, status] of [
    [{}, 400],
    [{ RekeyAccessPolicy: 'Team::blue', PruneAccessPolicy: 'Team::blue' }, 400],
    [{ RekeyAccessPolicy: 'Team::nobody' }, 400],
    [{ AddAttribute: [['Team::blue', 'Classic', null]] }, 400],
    [{ AddAttribute: [['Team::new', 'Strong', null]] }, 400],
    [{ RekeyAccessPolicy: 1 }, 400],
  ] as const)
    assert.equal((await rotate(body)).status, status, JSON.stringify(body))
  assert.equal((await rotate({ RekeyAccessPolicy: '*' }, bob())).status, 404)
  assert.equal((await alice().post(`${keys}/${blue}/rotate`, { RekeyAccessPolicy: '*' })).status, 422)
  assert.equal((await alice().get(`${keys}/${blue}/structure`)).status, 422)
  assert.equal((await bob().get(`${keys}/${master}/structure`)).status, 404)
  const grant = { unique_identifier: master, user_id: 'bob', operation_types: ['getattributes'] }
  await alice().post('/access/grant', grant)
  assert.equal((await bob().get(`${keys}/${master}/structure`)).status, 404, 'the public key counts, too')
  assert.equal((await rotate({ RekeyAccessPolicy: '*' }, bob())).status, 403)
})

test('a malformed request is refused by name, and changes nothing', async () => {
  const { master, publicKey } = await pair()
  const user = await userKey(master, 'Team::blue')
  for (const [body, status] of [
    [{}, 400],
    [{ access_structure, policy: '*' }, 400],
    [{ access_structure: { A: ['a', 'a'] } }, 400],
    [{ access_structure: [] }, 400],
    [{ access_structure, k: 'AAAA' }, 400],
    [{ access_structure, crv: 'P-256' }, 400],
    [{ access_structure, alg: 'A256GCM' }, 400],
    [{ master, policy: 'Team::' }, 400],
    [{ master, policy: 'Team::green' }, 400],
    [{ master, policy: 'x'.repeat(20_000) }, 400],
    [{ master }, 400],
    [{ master: publicKey, policy: '*' }, 422],
    [{ master: user, policy: '*' }, 422],
    [{ master: 'nobody', policy: '*' }, 404],
  ] as const) {
    const reply = await alice().post(keys, { kty: 'ABE', ...body })
    assert.equal(reply.status, status, `${JSON.stringify(body).slice(0, 80)} ${reply.text}`)
  }
  assert.equal((await alice().post(keys, { kty: 'oct', alg: 'A256GCM', policy: '*' })).status, 400)
  const right = { kid: publicKey, alg: 'ABE', enc: 'A256GCM', policy: 'Team::blue', data: url('x') }
  for (const [change, status, error] of [
    [{ policy: undefined }, 400, 'bad_request'],
    [{ policy: '' }, 400, 'bad_request'],
    [{ policy: 'Level::low || Level::high' }, 400, 'bad_request'],
    [{ policy: 'Team::green' }, 400, 'bad_request'],
    [{ enc: 'A128GCM' }, 422, 'unsupported_algorithm'],
    [{ alg: 'dir' }, 400, 'bad_request'],
    [{ kid: master }, 422, 'crypto_failure'],
    [{ kid: user }, 422, 'crypto_failure'],
    [{ data: '*' }, 400, 'bad_request'],
  ] as const) {
    const reply = await alice().post('/v1/crypto/encrypt', { ...right, ...change })
    assert.deepEqual([reply.status, reply.json.error], [status, error], JSON.stringify(change))
  }
  const jwe = (await alice().post('/v1/crypto/encrypt', right)).json
  for (const [kid, status] of [
    [undefined, 400],
    [publicKey, 422],
    [master, 422],
    ['nobody', 404],
  ] as const)
    assert.equal((await alice().post('/v1/crypto/decrypt', { ...jwe, kid })).status, status, String(kid))
  assert.equal((await decrypt(user, { ...jwe, encrypted_key: '' })).status, 400)
  assert.equal((await decrypt(user, jwe, bob())).status, 404)
  const aes = (await alice().post(keys, { kty: 'oct', alg: 'A256GCM' })).json.kid
  const direct = { kid: aes, alg: 'dir', enc: 'A256GCM', data: url('x') }
  const sealed = (await alice().post('/v1/crypto/encrypt', direct)).json
  assert.equal((await alice().post('/v1/crypto/decrypt', { ...sealed, kid: aes })).status, 400)
  assert.equal((await alice().post('/v1/crypto/encrypt', { ...right, kid: aes })).status, 422)
  assert.equal((await decrypt(aes, jwe)).status, 422)
})

test('the destruction of a master key destroys its user keys', async () => {
  const { master } = await pair()
  const user = await userKey(master, 'Team::blue')
  assert.equal((await alice().del(`${keys}/${master}`)).status, 204)
  assert.equal((await alice().get(`${keys}/${user}`)).status, 404)
})

test('user keys that are created concurrently are all stored, and audit records have their policies', async () => {
  const { master, publicKey } = await pair()
  const users = await Promise.all(Array.from({ length: 5 }, () => userKey(master, 'Team::red')))
  const { json } = await alice().post(`${keys}/${master}/rotate`, { RekeyAccessPolicy: 'Team::red' })
  assert.deepEqual(json.refreshed.toSorted(), users.toSorted())
  const jwe = await encrypt(publicKey, 'Team::red', 'for all')
  for (const user of users) assert.equal(await reads(user, jwe), 'for all')
  const [encrypted] = kms.audit.filter(({ operation }) => operation === 'crypto.encrypt').slice(-1)
  assert.equal((encrypted?.details as Json | undefined)?.policy, 'Team::red')
  const rotation = kms.audit.findLast(({ operation }) => operation === 'crypto.keys.rotate')
  assert.equal((rotation?.details as Json | undefined)?.action, 'rekey Team::red')
})

test('other requests are answered during attribute-based encryption', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `n${index}::+`)
  const order: string[] = []
  const slow = alice()
    .post(keys, { kty: 'ABE', access_structure: { A: names, B: names } })
    .then(({ status }) => order.push(`master ${status}`))
  const quick = bob()
    .get('/me')
    .then(() => order.push('me'))
  await Promise.all([slow, quick])
  assert.deepEqual(order, ['me', 'master 200'])
})
