import assert from 'node:assert/strict'
import { createDecipheriv, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { endName, type ObjectId, verdictOn } from '@warder/keys'
import { boolean, Enumeration, enumeration, integer, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import {
  AbeClient,
  activeSince,
  aesAttributes,
  aesKey,
  attributes,
  inside,
  kmipClient,
  mask,
  objectType,
  uid,
  vendorAttribute,
  wrappingSpecification,
} from '@warder/kmip-server/testing'
import { openSqlite } from '@warder/storage'
import { type Started, startKms } from '../testing/start.ts'
import { approved, ask, done, keyOf, letCreate, officers } from './testing/officers.ts'

const guarded = {
  'roles.crypto_officer_users': officers,
  'approvals.operations': ['destroy', 'export', 'grant', 'stop_store'],
  'approvals.tags': ['prod'],
}
const prod = vendorAttribute('cosmian', 'tag', {
  tag: Tag.AttributeValue,
  type: 'TextString',
  value: '["prod"]',
})

const start = async (more: object = {}): Promise<Started> => {
  const kms = await startKms({ config: { ...guarded, ...more } })
  await letCreate(kms, 'alice')
  return kms
}

/** A key of alice's whose bytes are known here. */
async function registered(kms: Started, bytes: Uint8Array, ...more: readonly TtlvNode[]): Promise<string> {
  const { id } = await kmipClient(kms.user('alice')).do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt', 'Decrypt', 'WrapKey', 'DeriveKey'), activeSince, ...more),
    aesKey(bytes),
  ])
  return id
}

const tagged = (kms: Started, kid: string) =>
  done(kms.user('alice').post(`/v1/crypto/keys/${kid}/tags`, { tags: ['prod'] }))
const material = (nodes: readonly TtlvNode[]) => {
  const value = inside(
    nodes.find(({ tag }) => tag === Tag.SymmetricKey),
    Tag.KeyBlock,
    Tag.KeyValue,
  )
  return Buffer.from(
    (value?.value instanceof Uint8Array ? value : inside(value, Tag.KeyMaterial))?.value as Uint8Array,
  )
}

/** Encrypts the one key with the other, which makes a third one that nothing guards. */
const encryptedWith = (wrapper: string, secret: string) => [
  objectType('SymmetricKey'),
  uid(wrapper),
  uid(secret),
  enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod.ENCRYPT),
  structure(Tag.DerivationParameters, [
    structure(Tag.CryptographicParameters, [
      enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.ECB),
    ]),
  ]),
  aesAttributes(256),
]

test('DeriveKey that encrypts a key with a known one requires the same approval as Get', async () => {
  await using kms = await start()
  const [known, secret] = [randomBytes(32), randomBytes(32)]
  const [wrapper, kid] = [await registered(kms, known), await registered(kms, secret)]
  await tagged(kms, kid)
  const alice = kmipClient(kms.user('alice'))
  assert.match(
    await alice.fails('DeriveKey', encryptedWith(wrapper, kid), 'PermissionDenied'),
    /approval of 3/,
  )
  const request = await approved(kms, 'alice', { operation: 'export', key: kid })
  assert.equal(request.state, 'approved')
  const made = await alice.do('DeriveKey', encryptedWith(wrapper, kid))
  const decipher = createDecipheriv('aes-256-ecb', known, null).setAutoPadding(false)
  const got = material((await alice.do('Get', [uid(made.id)])).nodes)
  assert.deepEqual(Buffer.concat([decipher.update(got), decipher.final()]), secret, 'which is why')
  await alice.fails('DeriveKey', encryptedWith(wrapper, kid), 'PermissionDenied')

  // Nor for a user who may derive and not get, nor from a key that is not extractable.
  await letCreate(kms, 'bob')
  const free = await registered(kms, randomBytes(32))
  const right = (unique_identifier: string, operation_types: readonly string[]) =>
    done(kms.user('alice').post('/access/grant', { unique_identifier, user_id: 'bob', operation_types }))
  await right(wrapper, ['derivekey'])
  await right(free, ['derivekey'])
  const bob = kmipClient(kms.user('bob'))
  await bob.fails('DeriveKey', encryptedWith(wrapper, free), 'PermissionDenied')
  await right(free, ['get'])
  await bob.fails('DeriveKey', encryptedWith(wrapper, free), 'PermissionDenied')
  await right(wrapper, ['encrypt', 'decrypt'])
  await bob.do('DeriveKey', encryptedWith(wrapper, free))
  const kept = await registered(kms, randomBytes(32), boolean(Tag.Extractable, false))
  await alice.fails('DeriveKey', encryptedWith(wrapper, kept), 'NotExtractable')
})

test('an export approved for one wrapping key permits no other form', async () => {
  await using kms = await start()
  const [kek, other] = [randomBytes(32), randomBytes(32)]
  const [wrapper, stranger] = [await registered(kms, kek), await registered(kms, other)]
  const kid = await keyOf(kms, 'alice', 'prod')
  const alice = kmipClient(kms.user('alice'))
  const wish = { operation: 'export', key: kid, wrapping_key: wrapper }
  const request = await approved(kms, 'alice', wish)
  assert.equal(request.wrapping_key, wrapper)
  assert.notEqual(request.hash, (await done(ask(kms, 'alice', { operation: 'export', key: kid }))).hash)
  const split = [
    objectType('SplitKey'),
    uid(kid),
    integer(Tag.SplitKeyParts, 2),
    integer(Tag.SplitKeyThreshold, 2),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
  ]
  await alice.fails('Get', [uid(kid)], 'PermissionDenied')
  await alice.fails('Get', [uid(kid), wrappingSpecification(stranger, 'NISTKeyWrap')], 'PermissionDenied')
  await alice.fails('CreateSplitKey', split, 'PermissionDenied')
  await alice.fails('DeriveKey', encryptedWith(wrapper, kid), 'PermissionDenied')
  await alice.do('Get', [uid(kid), wrappingSpecification(wrapper, 'NISTKeyWrap')])
  await alice.fails('Get', [uid(kid), wrappingSpecification(wrapper, 'NISTKeyWrap')], 'PermissionDenied')
  assert.equal((await ask(kms, 'alice', { ...wish, wrapping_key: 'nothing' })).status, 404)
})

test("in an atomic batch an approval applies to the key's state before the batch, and to one item", async () => {
  await using kms = await start()
  const kid = await keyOf(kms, 'alice', 'prod')
  const alice = kmipClient(kms.user('alice'))
  await alice.do('SetAttribute', [uid(kid), structure(Tag.NewAttribute, [boolean(Tag.Sensitive, true)])])
  await approved(kms, 'alice', { operation: 'export', key: kid })
  const get = { operation: 'Get', payload: [uid(kid)] } as const
  const undo = { batchErrorContinuation: 'Undo' } as const
  const plain = {
    operation: 'SetAttribute',
    payload: [uid(kid), structure(Tag.NewAttribute, [boolean(Tag.Sensitive, false)])],
  } as const
  const changed = await alice.send([plain, get], undo)
  assert.deepEqual(
    changed.items.map(({ status, reason }) => [status, reason]),
    [
      ['OperationUndone', undefined],
      ['OperationFailed', 'PermissionDenied'],
    ],
  )
  await alice.do('SetAttribute', plain.payload)
  await approved(kms, 'alice', { operation: 'export', key: kid })
  const twice = await alice.send([get, get], undo)
  assert.deepEqual(
    twice.items.map(({ status }) => status),
    ['OperationUndone', 'OperationFailed'],
  )
  assert.equal((await alice.send([get], undo)).items[0]?.status, 'Success', 'it was not used up')
})

test('the split for a ceremony does not destroy a key whose destruction requires approvals or waits', async () => {
  const ceremony = { 'roles.crypto_officer_require_ceremony': true }
  const marked = vendorAttribute(
    'cosmian',
    'x-cosmian-crypto-officer-ceremony',
    boolean(Tag.AttributeValue, true),
  )
  const split = (id: string) => [
    objectType('SplitKey'),
    uid(id),
    integer(Tag.SplitKeyParts, 5),
    integer(Tag.SplitKeyThreshold, 5),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    attributes(),
  ]
  for (const [config, reason] of [
    [{ 'approvals.operations': ['destroy'] }, /approval of 3/],
    [{ 'approvals.operations': [], pending_destruction_days_by: ['tag:prod=7'] }, /would be delayed/],
  ] as const) {
    await using kms = await startKms({ config: { ...guarded, ...ceremony, ...config } })
    const ann = kmipClient(kms.user('ann'))
    const made = async (...more: readonly TtlvNode[]) =>
      (await ann.do('Create', [objectType('SymmetricKey'), aesAttributes(256, prod, marked, ...more)])).id
    const [active, given, brought, fresh] = [
      await made(activeSince),
      await made(),
      await ann.do('Register', [
        objectType('SymmetricKey'),
        attributes(mask('Encrypt'), prod, marked),
        aesKey(randomBytes(32)),
      ]),
      await made(),
    ]
    await ann.do('Get', [uid(given)])
    for (const id of [active, given, brought.id])
      assert.match(await ann.fails('CreateSplitKey', split(id), 'PermissionDenied'), reason)
    assert.equal((await kms.user('ann').get(`/v1/crypto/keys/${active}`)).json.state, 'Active')
    await ann.do('CreateSplitKey', split(fresh))
  }
})

test('the destruction of a master key leaves user keys whose destruction requires approvals, and a rotation keeps guarded secrets', async () => {
  await using kms = await start()
  const alice = kms.user('alice')
  const abe = (body: object) => done(alice.post('/v1/crypto/keys', { kty: 'ABE', ...body }))
  const { kid: master } = await abe({ access_structure: { Team: ['blue', 'red'] } })
  const { kid: user } = await abe({ master, policy: 'Team::blue' })
  await tagged(kms, user)
  const client = kmipClient(alice)
  const revoked = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  const prune = () => alice.post(`/v1/crypto/keys/${master}/rotate`, { PruneAccessPolicy: 'Team::blue' })
  await done(prune())
  await tagged(kms, master)
  const refused = await prune()
  assert.deepEqual([refused.status, refused.json.error], [403, 'forbidden'])
  assert.match(refused.json.description, /removes secrets/)
  assert.equal(
    (await alice.post(`/v1/crypto/keys/${master}/rotate`, { DeleteAttribute: ['Team::red'] })).status,
    403,
  )
  const prunes = new AbeClient(client).rotation(master, { PruneAccessPolicy: 'Team::blue' })
  assert.match(await client.fails('ReKeyKeyPair', prunes, 'PermissionDenied'), /removes secrets/)
  await new AbeClient(client).rotate(master, { RekeyAccessPolicy: 'Team::blue' })
  const { kid: plain } = await abe({ access_structure: { Team: ['blue', 'red'] } })
  const { kid: own } = await abe({ master: plain, policy: 'Team::blue' })
  await tagged(kms, own)
  await client.do('Revoke', [uid(plain), revoked])
  assert.match(await client.fails('Destroy', [uid(plain)], 'PermissionDenied'), /approval of 3/)
  assert.equal((await alice.get(`/v1/crypto/keys/${own}`)).json.state, 'Deactivated')
  const request = await approved(kms, 'alice', { operation: 'destroy', key: plain })
  assert.equal(request.state, 'done')
  assert.equal((await alice.get(`/v1/crypto/keys/${own}`)).status, 404)
})

test('a request for a pair names either key, whichever has the tag', async () => {
  await using kms = await start()
  const alice = kms.user('alice')
  const { kid, kid_public } = await done(
    alice.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' }),
  )
  await tagged(kms, kid)
  assert.equal((await alice.del(`/v1/crypto/keys/${kid_public}`)).json.approval, 'destroy')
  const request = await approved(kms, 'alice', { operation: 'destroy', key: kid_public })
  assert.equal(request.state, 'done')
  assert.equal((await alice.get(`/v1/crypto/keys/${kid}`)).status, 404)
})

test('one officer cannot transfer a grant of material that requires approvals', async () => {
  await using kms = await start()
  const kid = await keyOf(kms, 'alice')
  const grant = { unique_identifier: kid, user_id: 'bob', operation_types: ['get', 'encrypt'] }
  await done(kms.user('alice').post('/access/grant', grant))
  await tagged(kms, kid)
  const give = () => kms.user('ann').post('/access/transfer', { from_user_id: 'bob', to_user_id: 'mallory' })
  const refused = await give()
  assert.deepEqual([refused.status, refused.json.error], [409, 'conflict'], refused.text)
  assert.match(refused.json.description, /revoke this grant/)
  await done(kms.user('alice').post('/access/revoke', { ...grant, operation_types: ['get'] }))
  assert.deepEqual(await done(give()), { objects: 0, grants: 1 })
})

test('an external store cannot be disabled without approvals by a suspension or by deleting its last access key', async () => {
  await using kms = await start({ 'aws_xks_config.aws_xks_enable': true })
  const ann = kms.user('ann')
  const keys = '/v1/external-stores/aws/access-keys'
  const [one, two] = [
    (await ann.post(keys, { region: 'eu-west-1' })).json.id,
    (await ann.post(keys, { region: 'eu-west-1' })).json.id,
  ]
  for (const user_id of [`aws:${one}`, 'azure:pool'])
    assert.equal((await ann.post('/access/block', { user_id })).json.approval, 'stop_store')
  await done(ann.post('/access/block', { user_id: 'google:somebody@example.com' }))
  assert.equal((await ann.del(`${keys}/${one}`)).status, 204)
  assert.equal((await ann.del(`${keys}/${two}`)).json.approval, 'stop_store')
  assert.equal((await ann.get(keys)).json.length, 1)
})

test('a policy names algorithms of keys: HMAC stands for each hash, and an unknown name prevents the start', async () => {
  for (const name of ['aes', 'ECDSA', 'ABE'])
    await assert.rejects(
      startKms({ config: { ...guarded, 'approvals.algorithms': [name] } }),
      /is not an algorithm of keys/,
    )
  await using kms = await start({ 'approvals.tags': [], 'approvals.algorithms': ['HMAC', 'CoverCrypt'] })
  const alice = kmipClient(kms.user('alice'))
  for (const [algorithm, bits] of [
    ['HMAC_SHA256', 256],
    ['HMAC_SHA1', 160],
    ['HMAC_SHA3_256', 256],
  ] as const) {
    const { id } = await alice.do('Create', [
      objectType('SymmetricKey'),
      attributes(
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm]),
        integer(Tag.CryptographicLength, bits),
        mask('MACGenerate'),
      ),
    ])
    await alice.fails('Get', [uid(id)], 'PermissionDenied')
  }
})

test('a tag of one key of a pair puts both under approvals, and their link cannot be deleted', async () => {
  await using kms = await start()
  const alice = kmipClient(kms.user('alice'))
  const pair = async (half: number) => {
    const made = await alice.do('CreateKeyPair', [
      structure(Tag.CommonAttributes, [
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.Ed25519),
        activeSince,
      ]),
      structure(Tag.PrivateKeyAttributes, [mask('Sign'), ...(half === 0 ? [prod] : [])]),
      structure(Tag.PublicKeyAttributes, [mask('Verify'), ...(half === 1 ? [prod] : [])]),
    ])
    return [Tag.PrivateKeyUniqueIdentifier, Tag.PublicKeyUniqueIdentifier].map((tag) =>
      String(made.get(tag)),
    ) as [string, string]
  }
  for (const half of [0, 1]) {
    const ids = await pair(half)
    await alice.fails('Get', [uid(ids[0])], 'PermissionDenied')
    const body = { user_id: 'bob', operation_types: ['get'] }
    assert.equal(
      (await kms.user('alice').post('/access/grant', { unique_identifier: ids[0], ...body })).status,
      403,
    )
    const link = enumeration(Tag.AttributeReference, Tag.Link)
    const other = ids[1 - half] as string
    assert.match(await alice.fails('DeleteAttribute', [uid(other), link], 'PermissionDenied'), /prod/)
    await alice.fails('Get', [uid(ids[0])], 'PermissionDenied')
  }
})

test('grants of material by tag, group or role from before the approvals give nothing that takes an approval now', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-before-'))
  const db = openSqlite({ path: join(folder, 'kms.db') })
  const rootKey = randomBytes(32)
  try {
    const keys: Record<string, string> = {}
    {
      await using before = await startKms({ db, rootKey })
      const alice = before.user('alice')
      for (const name of ['guarded', 'free', 'named'])
        keys[name] = await keyOf(before, 'alice', 'team', ...(name === 'free' ? [] : ['prod']))
      await done(alice.call('PUT', '/access/groups/ops', { json: { members: ['gus'] } }))
      const grant = (on: object, user_id: string, operation_types = ['get', 'encrypt']) =>
        done(alice.post('/access/grant', { ...on, user_id, operation_types }))
      await grant({ tag: 'team' }, 'tom')
      await grant({ tag: 'team' }, 'group:ops')
      for (const name of ['guarded', 'free']) await grant({ unique_identifier: keys[name] }, 'role:corp/dev')
      await grant({ unique_identifier: keys.named }, 'tom')
      for (const user of ['tom', 'gus'])
        await kmipClient(before.user(user)).do('Get', [uid(keys.guarded ?? '')])
    }
    await using kms = await startKms({
      db,
      rootKey,
      config: { ...guarded, 'approvals.operations': ['grant'] },
    })
    await letCreate(kms, 'alice')
    const getter = (user: string) => kmipClient(kms.user(user))
    for (const user of ['tom', 'gus']) {
      await getter(user).fails('Get', [uid(keys.guarded ?? '')], 'PermissionDenied')
      await getter(user).do('Get', [uid(keys.free ?? '')])
      const encrypt = { kid: keys.guarded, alg: 'dir', enc: 'A256GCM', data: 'eA' }
      await done(kms.user(user).post('/v1/crypto/encrypt', encrypt))
    }
    await getter('tom').do('Get', [uid(keys.named ?? '')])
    await getter('gus').fails('Get', [uid(keys.named ?? '')], 'PermissionDenied')
    // The same holds for a key that gets the tag, or the requirement of approvals, afterwards.
    const later = await keyOf(kms, 'alice', 'prod', 'team')
    await getter('tom').fails('Get', [uid(later)], 'PermissionDenied')
    await tagged(kms, keys.free ?? '')
    await getter('tom').fails('Get', [uid(keys.free ?? '')], 'PermissionDenied')
    const { db: environment, clock } = kms.environment
    const roles = { name: 'rob', roles: ['role:corp/dev'] }
    const object = (await kms.services.keys.get((keys.guarded ?? '') as ObjectId))?.object
    assert.ok(object)
    assert.equal(await verdictOn(environment, kms.services.roles, object, roles, 'get'), 'lacks_this_right')
    assert.equal(await verdictOn(environment, kms.services.roles, object, roles, 'encrypt'), 'allowed')
    const asked = { user_id: 'tom', unique_identifier: keys.guarded, operation: 'get' }
    const explained = await done(kms.user('ann').post('/access/explain', asked))
    assert.equal(explained.allowed, false)
    assert.deepEqual(
      explained.reasons.map(({ kind, allows }: Record<string, unknown>) => [kind, allows]),
      [
        ['tag', false],
        ['no_grant', false],
      ],
    )
    // The deletion of the owner does not convert them to grants on the keys.
    const parts = {
      db: environment,
      commit: environment.commit,
      now: () => clock.now(),
      approvesGrants: true,
    }
    assert.notEqual(await endName(parts, 'alice', 's1'), undefined)
    await getter('tom').fails('Get', [uid(keys.guarded ?? '')], 'PermissionDenied')
    await getter('tom').do('Get', [uid(keys.named ?? '')])
  } finally {
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
