import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { endName } from '@warder/keys'
import {
  approved,
  ask,
  bothEngines,
  done,
  officers as five,
  keyOf,
  letCreate,
  type Started,
  startKms,
  startTwoNodes,
} from '@warder/kms/testing'
import { awsRights, type Credential, principal, requestMetadata, sendSigned } from './fixtures/xks.ts'

const path = '/v1/external-stores/aws/access-keys'
const region = 'eu-west-1'
const encryptBody = {
  requestMetadata: requestMetadata('Encrypt'),
  plaintext: Buffer.from('attack at dawn').toString('base64'),
  encryptionAlgorithm: 'AES_GCM',
}
const enabled = { 'aws_xks_config.aws_xks_enable': true }
const withOfficers = { ...enabled, 'roles.crypto_officer_users': five }
type Kms = Started

const grantTo = (
  kms: Kms,
  owner: string,
  kid: string,
  user_id: string,
  rights: readonly string[] = awsRights,
) => kms.user(owner).post('/access/grant', { unique_identifier: kid, user_id, operation_types: rights })
const make = (kms: Kms, user: string, more: object = {}) => kms.user(user).post(path, { region, ...more })
const encrypt = async (kms: Kms, kid: string, credential: Credential, prefix = '/aws') => {
  const target = `${prefix}/kms/xks/v1/keys/${kid}/encrypt`
  const { status, json } = await sendSigned(kms.with({}), target, encryptBody, { credential })
  return status === 200 ? 200 : json.errorName
}

test('an access key is use of every key of its store: neither an officer nor who has `external` makes one without that', async () => {
  await using kms = await startKms({ config: withOfficers })
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  await done(kms.user('ann').post('/access/grant', { user_id: 'mallory', operation_types: ['external'] }))
  const before = await make(kms, 'mallory')
  assert.equal(before.status, 200, 'while the store has no key there is nothing to use')
  assert.equal((await kms.user('mallory').del(`${path}/${before.json.id}`)).status, 204)
  await done(grantTo(kms, 'alice', kid, 'aws:*'))
  for (const user of ['ann', 'mallory']) {
    const { status, text } = await make(kms, user)
    assert.equal(status, 403, user)
    assert.match(text, /could (?:en|de)crypt with/)
  }
  assert.equal((await make(kms, 'alice')).status, 403, 'the owner does not manage external key stores')
  await done(grantTo(kms, 'alice', kid, 'mallory', ['encrypt']))
  assert.equal((await make(kms, 'mallory')).status, 403, 'decrypts, too')
  await done(grantTo(kms, 'alice', kid, 'mallory', ['decrypt']))
  const made = await make(kms, 'mallory')
  assert.equal(await encrypt(kms, kid, made.json), 200)
  // Whoever has an access key of the store exchanges it.
  await done(
    kms.user('alice').post('/access/revoke', {
      unique_identifier: kid,
      user_id: 'mallory',
      operation_types: ['decrypt'],
    }),
  )
  assert.equal((await make(kms, 'mallory')).status, 200)
  assert.equal((await make(kms, 'ann')).status, 403)
})

test('officers grant no use to clouds that they do not have themselves', async () => {
  await using kms = await startKms({ config: withOfficers })
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  for (const user of [
    'aws:*',
    'AWS:*',
    'aws:/aws:*',
    `aws:${principal}`,
    'google:ann@example.com',
    'microsoft:Ann@example.com',
    'microsoft:role:Finance',
    'azure:pool.example',
  ]) {
    const { status, text } = await grantTo(kms, 'ann', kid, user, ['decrypt'])
    assert.equal(status, 403, user)
    assert.match(text, /use of the key/)
  }
  await done(grantTo(kms, 'alice', kid, 'aws:*', ['decrypt']))
  // Nor do they pass the grants of others on to a cloud, or those of a cloud to somebody.
  for (const [from_user_id, to_user_id] of [
    ['alice', 'aws:*'],
    ['aws:*', 'bob'],
    ['aws:*', 'Google:ann@example.com'],
  ])
    assert.equal((await kms.user('ann').post('/access/transfer', { from_user_id, to_user_id })).status, 400)
})

test('where approvals say so, officers approve access keys and grants to clouds, each for one use', async () => {
  const operations = ['grant', 'access_key']
  await using kms = await startKms({ config: { ...withOfficers, 'approvals.operations': operations } })
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  const direct = await grantTo(kms, 'alice', kid, 'aws:*', ['decrypt'])
  assert.deepEqual([direct.status, direct.json.approval], [403, 'grant'])
  assert.equal((await grantTo(kms, 'alice', kid, 'bob', ['decrypt'])).status, 200, 'not to users')
  const wish = { operation: 'grant', key: kid, user_id: 'AWS:*', operation_types: awsRights }
  assert.equal((await approved(kms, 'alice', wish)).state, 'done')

  const refused = await make(kms, 'eva')
  assert.deepEqual([refused.status, refused.json.approval], [403, 'access_key'])
  assert.match(refused.text, /officers ask access-key/)
  assert.equal((await ask(kms, 'alice', { operation: 'access_key', region })).status, 403)
  assert.equal((await ask(kms, 'eva', { operation: 'access_key' })).status, 400)
  const request = await approved(kms, 'eva', { operation: 'access_key', region })
  assert.deepEqual([request.state, request.region, request.uri_prefix], ['approved', region, '/aws'])
  assert.equal((await make(kms, 'eva', { region: 'eu-west-2' })).status, 403, 'for another region')
  assert.equal((await make(kms, 'dan')).status, 403, 'for another officer')
  const made = await make(kms, 'eva')
  assert.equal(await encrypt(kms, kid, made.json), 200)
  assert.equal((await make(kms, 'eva')).status, 403, 'once')
})

test('an access key of one key store uses no key that was granted in another one', async () => {
  await using kms = await startKms({
    config: { ...enabled, 'aws_xks_config.aws_xks_uri_path_prefixes': ['/aws', '/payments', ''] },
  })
  const prefixes = ['/aws', '/payments', ''] as const
  const credentials = new Map<string, Credential>()
  for (const uri_prefix of prefixes)
    credentials.set(uri_prefix, (await make(kms, 'admin', { uri_prefix })).json)
  const reached = async (user_id: string): Promise<readonly string[]> => {
    const kid = await keyOf(kms, 'alice')
    await done(grantTo(kms, 'alice', kid, user_id))
    const opened: string[] = []
    for (const prefix of prefixes) {
      const credential = credentials.get(prefix)
      assert.ok(credential !== undefined)
      const answer = await encrypt(kms, kid, credential, prefix)
      if (answer === 200) opened.push(prefix)
      else assert.equal(answer, 'KeyNotFoundException', 'another store is not told of the key')
    }
    return opened
  }
  for (const name of ['*', principal]) {
    assert.deepEqual(await reached(`aws:${name}`), ['/aws'])
    assert.deepEqual(await reached(`aws:/aws:${name}`), ['/aws'])
    assert.deepEqual(await reached(`aws:/payments:${name}`), ['/payments'])
    assert.deepEqual(await reached(`aws:/:${name}`), [''])
  }
  const kid = await keyOf(kms, 'alice')
  assert.equal((await grantTo(kms, 'alice', kid, 'aws:/other:*')).status, 400, 'no such store')
  // The name in the request cannot be that of another store.
  await done(grantTo(kms, 'alice', kid, `aws:/payments:${principal}`))
  const credential = credentials.get('/aws')
  assert.ok(credential !== undefined)
  const body = {
    ...encryptBody,
    requestMetadata: { ...encryptBody.requestMetadata, awsPrincipalArn: `/payments:${principal}` },
  }
  const target = `/aws/kms/xks/v1/keys/${kid}/encrypt`
  assert.equal((await sendSigned(kms.with({}), target, body, { credential })).status, 400)
})

test('an access key ends with the user who made it, and says so in the list', async () => {
  await using kms = await startKms({ config: withOfficers })
  await letCreate(kms, 'alice')
  await done(kms.user('ann').post('/access/grant', { user_id: 'mallory', operation_types: ['external'] }))
  const made = (await make(kms, 'mallory')).json
  const byOfficer = (await make(kms, 'ben')).json
  const kid = await keyOf(kms, 'alice')
  await done(grantTo(kms, 'alice', kid, 'aws:*'))
  const endOf = async (id: string) => {
    const list = await done(kms.user('ann').get(path))
    return list.find((one: { readonly id: string }) => one.id === id)
  }
  const expectEnd = async (credential: Credential, ended: string | null) => {
    assert.equal(
      await encrypt(kms, kid, credential),
      ended === null ? 200 : 'AuthenticationFailedException',
      String(ended),
    )
    assert.equal((await endOf(credential.id)).ended, ended)
  }
  await expectEnd(made, null)
  await done(kms.user('ann').post('/access/block', { user_id: 'mallory' }))
  await expectEnd(made, 'maker_blocked')
  assert.equal(
    kms.audit.findLast(({ operation }) => operation === 'aws.xks.encrypt')?.details?.access_key_end,
    'maker_blocked',
  )
  await expectEnd(byOfficer, null)
  await done(kms.user('ann').post('/access/block', { user_id: 'ben' }))
  await expectEnd(byOfficer, 'maker_blocked')
  await done(kms.user('ann').del('/access/block', { user_id: 'mallory' }))
  await done(kms.user('ann').post('/access/revoke', { user_id: 'mallory', operation_types: ['external'] }))
  await expectEnd(made, 'maker_without_right')
  await done(kms.user('ann').post('/access/grant', { user_id: 'mallory', operation_types: ['external'] }))
  await expectEnd(made, null)

  const { db, clock } = kms.environment
  await endName({ db, commit: db.commit, now: () => clock.now() }, 'mallory', randomUUID())
  await done(kms.user('ann').post('/access/grant', { user_id: 'mallory', operation_types: ['external'] }))
  await expectEnd(made, 'maker_gone')
  const { created_by } = await endOf(made.id)
  assert.match(created_by, /^ended:mallory:/)
  // The secret stays known to the one who is gone: no transfer gives it to somebody.
  await done(kms.user('ann').post('/access/transfer', { from_user_id: created_by, to_user_id: 'mallory' }))
  await expectEnd(made, 'maker_gone')
})

for (const engine of await bothEngines()) {
  test(`${engine.name}: access keys are use, and end, on every node`, { skip: engine.skip }, async () => {
    await using nodes = await startTwoNodes(engine, withOfficers)
    const { near, far } = nodes
    await letCreate(near, 'alice')
    const made = (await make(near, 'ben')).json
    const kid = await keyOf(near, 'alice')
    await done(grantTo(near, 'alice', kid, `aws:${principal}`))
    assert.equal((await make(near, 'cid')).status, 403)
    assert.equal((await make(near, 'ben')).status, 200)
    assert.equal(await encrypt(far, kid, made), 200)
    const { db, clock } = near.environment
    await endName({ db, commit: db.commit, now: () => clock.now() }, 'ben', randomUUID())
    assert.equal(await encrypt(far, kid, made), 'AuthenticationFailedException')
  })
}
