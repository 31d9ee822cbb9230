import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  textString,
} from '@warder/kmip-codec'
import {
  aesAttributes,
  attributes,
  kmipClient,
  objectType,
  uid,
  vendorAttribute,
} from '@warder/kmip-server/testing'
import { change, query } from '@warder/storage'
import { grant } from '../testing/client.ts'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { type Started, startKms } from '../testing/start.ts'

const officers = ['ann', 'ben', 'cid']
const config = {
  'roles.crypto_officer_users': officers,
  'roles.crypto_officer_require_ceremony': true,
  rate_limit_per_second: 1000,
}
type Node = Pick<Started, 'user'>
type Method = keyof typeof Enumeration.SplitKeyMethod
const marked = vendorAttribute(
  'cosmian',
  'x-cosmian-crypto-officer-ceremony',
  boolean(Tag.AttributeValue, true),
)

/** An officer makes the key of a ceremony and splits it. @returns ids of the shares, in the order of the officers */
async function begin(kms: Node, by = 'ann', method: Method = 'XOR'): Promise<readonly string[]> {
  const client = kmipClient(kms.user(by))
  const { id } = await client.do('Create', [objectType('SymmetricKey'), aesAttributes(256, marked)])
  const { nodes } = await client.do('CreateSplitKey', [
    objectType('SplitKey'),
    uid(id),
    integer(Tag.SplitKeyParts, 3),
    integer(Tag.SplitKeyThreshold, 3),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod[method]),
    attributes(),
  ])
  const shares = nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).map(({ value }) => String(value))
  assert.deepEqual(
    shares,
    officers.map((_, index) => `${id}#${index + 1}`),
  )
  return shares
}

/** Officers let another get their shares. */
async function give(kms: Node, shares: readonly string[], to: string): Promise<void> {
  for (const [index, id] of shares.entries()) {
    const owner = officers[index] ?? ''
    if (owner === to) continue
    const grant = { unique_identifier: id, user_id: to, operation_types: ['get'] }
    const { status, text } = await kms.user(owner).post('/access/grant', grant)
    assert.equal(status, 200, text)
  }
}

const activate = (kms: Node, user: string, share_ids: readonly string[]) =>
  kms.user(user).post('/access/crypto_officer/ceremony/activate', { share_ids })
const disable = (kms: Node, user: string, body: object) =>
  kms.user(user).post('/access/crypto_officer/disable', body)
const status = async (kms: Node, user: string) =>
  (await kms.user(user).get('/access/crypto_officer/status')).json
const isOfficer = async (kms: Node, user: string): Promise<boolean> => {
  const { has_privileged_access: privileged } = (await kms.user(user).get('/access/privileged')).json
  assert.equal((await status(kms, user)).is_crypto_officer, privileged)
  return privileged
}

test("a listed officer is dormant until all shares are submitted, and may then manage other users' keys", async () => {
  let now = Date.now()
  await using kms = await startKms({ config, clock: { now: () => now, monotonic: () => now } })
  const wish = { kty: 'oct', alg: 'A256GCM' }
  const granted = { user_id: 'eve', operation_types: ['create'] }
  assert.equal((await kms.user('ann').post('/access/grant', granted)).status, 403)
  const shares = await begin(kms)
  assert.deepEqual(await status(kms, 'ann'), {
    enabled: true,
    users: officers,
    active_co_users: [],
    custodians_count: 3,
    require_ceremony: true,
    ceremony_activated: false,
    is_crypto_officer: false,
  })
  await give(kms, shares, 'ann')
  const activated = await activate(kms, 'ann', shares)
  assert.equal(activated.status, 200, activated.text)
  assert.deepEqual((await status(kms, 'ben')).active_co_users, ['ann'])
  const record = kms.audit.findLast(({ operation }) => operation === 'access.officers.activate')
  assert.deepEqual(record?.details?.participants, officers)

  assert.equal((await kms.user('ann').post('/access/grant', granted)).status, 200)
  const { kid } = (await kms.user('eve').post('/v1/crypto/keys', wish)).json
  assert.equal((await kms.user('ben').get(`/access/list/${kid}`)).status, 404)
  assert.equal((await kms.user('ann').get(`/access/list/${kid}`)).status, 200)
  const use = { kid, alg: 'dir', enc: 'A256GCM', data: 'AAAA' }
  assert.equal(
    (await kms.user('ann').post('/v1/crypto/encrypt', use)).status,
    403,
    'officers do not use keys',
  )

  await give(kms, shares, 'ben')
  assert.equal((await activate(kms, 'ben', shares)).status, 200)
  assert.deepEqual((await status(kms, 'cid')).active_co_users, ['ann', 'ben'])
  now += 28_800_000
  assert.equal(await isOfficer(kms, 'ann'), false)
  assert.equal((await kms.user('ann').get(`/access/list/${kid}`)).status, 404)
  await give(kms, shares, 'cid')
  for (const officer of ['ann', 'cid']) {
    const late = await activate(kms, officer, shares)
    assert.equal(late.status, 403, 'shares that were given are approvals, which end with their time, too')
    assert.match(late.json.description, /begin a new one/)
  }
})

test('the key of a ceremony is compromised and destroyed once it is split, and shares stay with their officers', async () => {
  await using kms = await startKms({ config })
  const shares = await begin(kms)
  const source = shares[0]?.split('#')[0] ?? ''
  const client = kmipClient(kms.user('ann'))
  const read = await client.do('GetAttributes', [uid(source)])
  const state = read.nodes.flatMap((node) => (node.type === 'Structure' ? node.value : []))
  assert.equal(state.find(({ tag }) => tag === Tag.State)?.value, Enumeration.State.DestroyedCompromised)
  await client.fails('Get', [uid(source)], 'ObjectDestroyed')
  await client.fails('Get', [uid(shares[1] ?? '')], 'ObjectNotFound')
  const { json } = await kms.user('ben').get('/access/crypto_officer/ceremony')
  assert.deepEqual(json.officers[1], { user: 'ben', share_id: shares[1] })
  assert.equal(json.threshold, 3)
})

for (const method of ['PolynomialSharingGF28', 'PolynomialSharingPrimeField'] as const) {
  test(`${method}: the shares of a quorum suffice, and one share does not`, async () => {
    await using kms = await startKms({ config })
    const shares = await begin(kms, 'cid', method)
    await give(kms, shares, 'ben')
    assert.equal((await activate(kms, 'ben', shares.slice(1, 2))).status, 403)
    assert.equal((await activate(kms, 'ben', shares.slice(0, 2))).status, 200)
    assert.equal(await isOfficer(kms, 'ben'), true)
  })
}

test('JoinSplitKey of all shares also activates an officer; with too few it creates no key and activates nothing', async () => {
  await using kms = await startKms({ config })
  const shares = await begin(kms)
  await give(kms, shares, 'ben')
  const ben = kmipClient(kms.user('ben'))
  const wish = [objectType('SymmetricKey')]
  await ben.fails(
    'JoinSplitKey',
    [...wish, ...shares.slice(0, 2).map(uid), aesAttributes()],
    'PermissionDenied',
  )
  assert.equal(await isOfficer(kms, 'ben'), false)
  await ben.do('JoinSplitKey', [...wish, ...shares.map(uid), aesAttributes()])
  assert.equal(await isOfficer(kms, 'ben'), true)
})

test('shares that do not belong to one ceremony are refused: too few, repeated, mixed, forged, of another user, destroyed', async () => {
  await using kms = await startKms({ config })
  const [first, second] = [await begin(kms), await begin(kms, 'ben')]
  await give(kms, first, 'ann')
  await give(kms, second, 'ann')
  const [a = '', b = '', c = ''] = first
  const client = kmipClient(kms.user('ann'))
  // A share of ann's own making, which says that it is of the ceremony.
  const forged = async (parent: string, part: number): Promise<string> => {
    const { id } = await client.do('Register', [
      objectType('SplitKey'),
      attributes(
        structure(Tag.Link, [
          enumeration(Tag.LinkType, Enumeration.LinkType.ParentLink),
          textString(Tag.LinkedObjectIdentifier, parent),
        ]),
      ),
      structure(Tag.SplitKey, [
        integer(Tag.SplitKeyParts, 3),
        integer(Tag.KeyPartIdentifier, part),
        integer(Tag.SplitKeyThreshold, 3),
        enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
        structure(Tag.KeyBlock, [
          enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
          structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, randomBytes(32))]),
          enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
          integer(Tag.CryptographicLength, 256),
        ]),
      ]),
    ])
    return id
  }
  const source = a.split('#')[0] ?? ''
  const key = (await client.do('Create', [objectType('SymmetricKey'), aesAttributes()])).id
  for (const [why, ids, expected] of [
    ['too few', [a, b], 403],
    ['the same one twice', [a, b, b], 400],
    ['of two ceremonies', [a, b, second[2] ?? ''], 403],
    ['not a share', [a, b, key], 403],
    ['unknown', [a, b, 'nothing'], 403],
    ['forged for another officer', [a, b, await forged(source, 3)], 403],
    ['forged in place of the own one', [await forged(source, 1), b, c], 403],
    ['of a ceremony that was none', [await forged(key, 1), b, c], 403],
  ] as const)
    assert.equal((await activate(kms, 'ann', ids)).status, expected, why)
  assert.equal(await isOfficer(kms, 'ann'), false)
  // A user who is not listed learns nothing, with any shares.
  const stranger = await activate(kms, 'eve', first)
  assert.equal(stranger.status, 403)
  assert.doesNotMatch(stranger.text, /officer|share/)
  assert.deepEqual((await status(kms, 'eve')).users, [])
  assert.equal((await activate(kms, 'cid', first)).status, 403, 'nobody granted cid anything')
  await kmipClient(kms.user('cid')).do('Destroy', [uid(c)])
  assert.equal((await activate(kms, 'ann', first)).status, 403)
})

test('an officer who steps down, or whom another officer ends, needs a new ceremony', async () => {
  await using kms = await startKms({ config })
  const shares = await begin(kms)
  await give(kms, shares, 'ann')
  await activate(kms, 'ann', shares)
  assert.equal((await disable(kms, 'eve', { target_user: 'ann' })).status, 403)
  assert.equal((await disable(kms, 'ben', {})).status, 404)
  assert.equal((await disable(kms, 'ben', { target_user: 'ann' })).status, 200)
  assert.equal(await isOfficer(kms, 'ann'), false)
  await kmipClient(kms.user('ann')).fails('Get', [uid(shares[1] ?? '')], 'ObjectNotFound')
  await give(kms, shares.slice(0, 2), 'ann')
  assert.equal((await activate(kms, 'ann', shares)).status, 409)
  const again = await begin(kms, 'cid')
  await give(kms, again, 'ann')
  assert.equal((await activate(kms, 'ann', again)).status, 200)
  assert.equal((await disable(kms, 'ann', {})).status, 200)
  assert.equal(await isOfficer(kms, 'ann'), false)
})

test('a ceremony can begin over REST, for a quorum or for all officers', async () => {
  await using kms = await startKms({ config })
  const make = async (body: object) =>
    (await kms.user('ben').post('/access/crypto_officer/ceremony', body)).json
  for (const [everybody, enough] of [
    [false, 2],
    [true, 3],
  ] as const) {
    const { id, share_id } = await make({ everybody })
    const shares = officers.map((_, index) => `${id}#${index + 1}`)
    assert.equal(share_id, shares[1])
    await give(kms, shares, 'ben')
    assert.equal((await activate(kms, 'ben', shares.slice(0, enough - 1))).status, 403)
    assert.equal((await activate(kms, 'ben', shares.slice(0, enough))).status, 200)
    await disable(kms, 'ben', {})
  }
  assert.equal((await kms.user('eve').post('/access/crypto_officer/ceremony', {})).status, 403)
})

test('only officers can begin a ceremony, and only if one is required', async () => {
  await using kms = await startKms({
    config: { ...config, 'roles.crypto_officer_users': [...officers, 'dan'] },
  })
  await using plain = await startKms({ config: { 'roles.crypto_officer_users': officers } })
  const splitting = (id: string) => [
    objectType('SplitKey'),
    uid(id),
    integer(Tag.SplitKeyParts, 2),
    integer(Tag.SplitKeyThreshold, 2),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    attributes(),
  ]
  const ann = kmipClient(plain.user('ann'))
  const made = await ann.do('Create', [objectType('SymmetricKey'), aesAttributes(256, marked)])
  await ann.fails('CreateSplitKey', splitting(made.id), 'InvalidField')
  const dan = kmipClient(kms.user('dan'))
  const { id } = await dan.do('Create', [objectType('SymmetricKey'), aesAttributes(256, marked)])
  await grant(kms.user('dan'), id, 'ben', 'get')
  await kmipClient(kms.user('ben')).fails('CreateSplitKey', splitting(id), 'PermissionDenied')
  assert.equal((await activate(plain, 'ann', ['a'])).status, 422)
})

test('a client of KMIP 1.x marks the key of a ceremony with a custom attribute', async () => {
  await using kms = await startKms({ config })
  const client = kmipClient(kms.user('ann'), { version: '1.4' })
  const legacy = vendorAttribute(
    'x',
    'cosmian-crypto-officer-ceremony',
    textString(Tag.AttributeValue, 'true'),
  )
  const { id } = await client.do('Create', [objectType('SymmetricKey'), aesAttributes(256, legacy)])
  const made = await client.do('CreateSplitKey', [
    objectType('SplitKey'),
    uid(id),
    integer(Tag.SplitKeyParts, 2),
    integer(Tag.SplitKeyThreshold, 2),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    attributes(),
  ])
  assert.equal(made.nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).length, 3)
})

test('an attacker with write access to the database cannot create an officer, because records are encrypted', async () => {
  await using kms = await startKms({ config })
  const { db } = kms.environment
  const insert = query<[string, string, Uint8Array, number, number], unknown>(
    'INSERT INTO officer_activation (ceremony_id, user_id, record, activated_at, until_ms) VALUES (?, ?, ?, ?, ?)',
  )
  const row = Buffer.from(JSON.stringify({ user: 'ann', until: 9e15 }))
  await db.commit([change(insert, ['x', 'ann', row, 0, 9e15])])
  assert.equal((await kms.user('ann').get('/access/privileged')).status, 500)
  const shares = await begin(kms, 'ben')
  await give(kms, shares, 'ben')
  assert.equal((await activate(kms, 'ben', shares)).status, 200)
  // The record of one officer is none of another's.
  const copy = query<[], unknown>(
    `UPDATE officer_activation SET record = (SELECT record FROM officer_activation WHERE user_id = 'ben') WHERE user_id = 'ann'`,
  )
  await db.commit([change(copy, [])])
  assert.equal((await kms.user('ann').get('/access/privileged')).status, 500)
})

for (const engine of await bothEngines()) {
  test(`${engine.name}: an activation and its end take effect on both nodes at once`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine, config)
    const [near, far] = [nodes.near, { user: nodes.onFar }]
    const shares = await begin(near)
    await give(far, shares, 'ann')
    const [one, other] = await Promise.all([activate(near, 'ann', shares), activate(far, 'ann', shares)])
    assert.deepEqual([one.status, other.status].sort(), [200, 409])
    assert.equal(await isOfficer(far, 'ann'), true)
    assert.equal((await disable(far, 'cid', { target_user: 'ann' })).status, 200)
    assert.equal(await isOfficer(near, 'ann'), false)
  })
}

test('an officer who is removed from the settings loses the role, and shares of former officers do not count', async () => {
  await using kms = await startKms({ config })
  const shares = await begin(kms)
  await give(kms, shares, 'ann')
  assert.equal((await activate(kms, 'ann', shares)).status, 200)
  await give(kms, shares, 'ben')
  const { db, seal } = kms.environment
  const without = { ...config, 'roles.crypto_officer_users': ['ben', 'cid', 'dan'] }
  await using later = await startKms({ config: without, db, seal })
  assert.equal((await later.user('ann').get('/access/privileged')).json.has_privileged_access, false)
  assert.equal((await activate(later, 'ben', shares)).status, 403)
})

test('the service refuses to start if one or two officers suffice for a ceremony, and warns without a rate limit', async () => {
  const few = { ...config, 'roles.crypto_officer_users': ['ann', 'ben', 'ann'] }
  await assert.rejects(startKms({ config: few }), /at least 3 users .* \(there are 2\)/)
  await assert.rejects(startKms({ config: { ...config, 'roles.ceremony_quorum': 4 } }), /quorum is 4/)
  await assert.rejects(
    startKms({ config: { ...config, force_default_username: true } }),
    /force_default_username/,
  )
  await using kms = await startKms({ config: { ...config, rate_limit_per_second: undefined } })
  assert.ok(kms.log.some((line) => line.includes('ceremonies') && line.includes('rate_limit_per_second')))
})

test('m officers colluding with a revoked or suspended one reach no quorum, whenever that one voted', async () => {
  await using kms = await startKms({ config: { ...config, 'approvals.operations': ['destroy'] } })
  const shares = await begin(kms)
  await give(kms, shares, 'ann')
  await give(kms, shares, 'cid')
  const request = async () => {
    const { kid } = (await kms.user('ben').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
    return (await kms.user('ben').post('/access/approvals', { operation: 'destroy', key: kid })).json
  }
  const vote = (user: string, { id, hash }: { id: string; hash: string }) =>
    kms.user(user).post(`/access/approvals/${id}/approve`, { hash })
  const [before, after, blocked] = [await request(), await request(), await request()]
  assert.equal((await vote('ann', before)).json.state, 'open')
  assert.equal((await vote('ann', blocked)).json.state, 'open')
  assert.equal((await activate(kms, 'ann', shares)).status, 200)
  assert.equal((await activate(kms, 'cid', shares)).status, 200)
  assert.equal((await disable(kms, 'ben', { target_user: 'ann' })).status, 200)
  // Two of three approve; that of ann does not count any more.
  const second = await vote('cid', before)
  assert.deepEqual([second.json.state, second.json.approved_by], ['open', ['cid']])
  const refused = await vote('ann', after)
  assert.equal(refused.status, 403)
  assert.match(refused.json.description, /ended your activation/)
  // A new ceremony, and it counts again.
  const again = await begin(kms, 'cid')
  await give(kms, again, 'ann')
  assert.equal((await activate(kms, 'ann', again)).status, 200)
  assert.equal((await vote('ann', after)).json.state, 'open')

  const block = await kms.user('cid').post('/access/block', { user_id: 'ann' })
  assert.equal(block.status, 200, block.text)
  assert.equal((await vote('cid', blocked)).json.state, 'open')
  assert.equal((await vote('ann', blocked)).status, 403)
  // Shares that were granted before do not activate an officer either.
  const third = await begin(kms, 'ben')
  for (const [index, owner] of officers.entries())
    if (owner !== 'ben' && owner !== 'ann')
      await kms.user(owner).post('/access/grant', {
        unique_identifier: third[index],
        user_id: 'ben',
        operation_types: ['get'],
      })
  await kms.user('cid').del('/access/block', { user_id: 'ann' })
  await kms.user('ann').post('/access/grant', {
    unique_identifier: third[0],
    user_id: 'ben',
    operation_types: ['get'],
  })
  await kms.user('cid').post('/access/block', { user_id: 'ann' })
  const activation = await activate(kms, 'ben', third)
  assert.equal(activation.status, 403)
  assert.match(activation.json.description, /ann is blocked/)
  await kms.user('cid').del('/access/block', { user_id: 'ann' })
  assert.equal((await activate(kms, 'ben', third)).status, 200)
})
