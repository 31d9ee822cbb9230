import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, startTwoNodes } from '@warder/kms/testing'
import { awsRights, requestMetadata, sendSigned, startXks } from './fixtures/xks.ts'

const health = { requestMetadata: requestMetadata('KmsHealthCheck') }
const keys = '/v1/external-stores/aws/access-keys'
const enable = { 'aws_xks_config.aws_xks_enable': true }

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: what one stops, makes or takes away counts on the other at once`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine, enable)
    const { near, far } = nodes
    const admin = near.user('admin')
    const credential = (await admin.post(keys, { region: 'eu-west-1' })).json
    const alice = near.user('alice')
    const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
    const grant = { unique_identifier: kid, user_id: 'aws:*', operation_types: awsRights }
    const path = `/aws/kms/xks/v1/keys/${kid}/encrypt`
    const body = {
      requestMetadata: requestMetadata('Encrypt'),
      plaintext: 'AAAA',
      encryptionAlgorithm: 'AES_GCM',
    }
    const wires = [near.with({}), far.with({})]
    const both = async (key = credential) =>
      Promise.all(
        wires.map(async (wire) => {
          const { status, json } = await sendSigned(wire, path, body, { credential: key })
          return json.errorName ?? status
        }),
      )
    const twice = (answer: unknown) => [answer, answer]
    assert.deepEqual(await both(), twice('KeyNotFoundException'))
    await alice.post('/access/grant', grant)
    assert.deepEqual(await both(), twice(200))
    await alice.post('/access/revoke', grant)
    assert.deepEqual(await both(), twice('KeyNotFoundException'))
    await alice.post('/access/grant', grant)

    assert.equal((await admin.post('/v1/external-stores/aws/stop', {})).status, 200)
    assert.deepEqual(await both(), twice('InvalidStateException'))
    // A caller who cannot sign does not learn that it is stopped.
    assert.deepEqual(await both({ ...credential, secret: 'x' }), twice('AuthenticationFailedException'))
    assert.equal((await nodes.onFar('admin').post('/v1/external-stores/aws/start', {})).status, 200)
    assert.deepEqual(await both(), twice(200))

    const second = (await nodes.onFar('admin').post(keys, { region: 'eu-west-1' })).json
    assert.deepEqual(await both(second), twice(200))
    assert.deepEqual(await both(), twice(200), 'both during a rotation')
    assert.equal((await nodes.onFar('admin').del(`${keys}/${credential.id}`)).status, 204)
    assert.deepEqual(await both(), twice('AuthenticationFailedException'))
    assert.deepEqual(await both(second), twice(200))
  })
}

test('access keys have the forms of AWS, their secrets are told once, and only who looks after stores has them', async () => {
  await using xks = await startXks()
  const { kms, credential } = xks
  const admin = kms.user('admin')
  assert.match(credential.id, /^[A-Z2-7]{20,30}$/)
  assert.match(credential.secret, /^[A-Za-z0-9+/=]{43,64}$/)
  const listed = (await admin.get(keys)).json
  assert.deepEqual(
    listed.map(({ id, region, uri_prefix, created_by }: Record<string, string>) => [
      id,
      region,
      uri_prefix,
      created_by,
    ]),
    [[credential.id, 'eu-west-1', '/aws', 'admin']],
  )
  assert.ok(!JSON.stringify(listed).includes(credential.secret))
  for (const wrong of [
    {},
    { region: 'EU' },
    { region: 'eu-west-1', uri_prefix: 'aws' },
    { region: 'eu-west-1', uri_prefix: '/aws/' },
    { region: 'eu-west-1', uri_prefix: '/other' },
  ])
    assert.equal((await admin.post(keys, wrong)).status, 400, JSON.stringify(wrong))
  const alice = kms.user('alice')
  for (const answer of [
    await alice.get(keys),
    await alice.post(keys, { region: 'eu-west-1' }),
    await alice.del(`${keys}/${credential.id}`),
  ])
    assert.equal(answer.status, 403)
  assert.equal((await admin.del(`${keys}/AAAA`)).status, 404)
  const path = '/aws/kms/xks/v1/health'
  assert.equal((await sendSigned(xks.wire, path, health, { credential })).status, 200)
  assert.equal((await admin.del(`${keys}/${credential.id}`)).status, 204)
  assert.equal((await admin.del(`${keys}/${credential.id}`)).status, 404)
  assert.equal((await sendSigned(xks.wire, path, health, { credential })).status, 401)
  const records = kms.audit.filter(({ operation }) => operation.startsWith('external.aws.keys.'))
  assert.ok(records.some(({ details }) => details?.access_key_id === credential.id))
  assert.ok(!JSON.stringify(records).includes(credential.secret))
})

test('an access key of the settings works beside those of the database', async () => {
  const credential = { id: 'AKIAI2SFODNN7EXAMPLE', secret: 'FYtE5EFA5FT0mCc3DrGUe2sti527BitkQ0Zr9MO9fvE' }
  await using xks = await startXks({
    config: {
      'aws_xks_config.aws_xks_uri_path_prefixes': [
        '/keystores/4a0d79d6-1d1b-49fd-9dbe-799cb9c0fb3f',
        '/aws',
        '',
      ],
      'aws_xks_config.aws_xks_region': 'us-east-2',
      'aws_xks_config.aws_xks_sigv4_access_key_id': credential.id,
      'aws_xks_config.aws_xks_sigv4_secret_access_key': credential.secret,
    },
  })
  const path = '/keystores/4a0d79d6-1d1b-49fd-9dbe-799cb9c0fb3f/kms/xks/v1/health'
  const signing = { credential, region: 'us-east-2' }
  assert.equal((await sendSigned(xks.wire, path, health, signing)).status, 200)
  assert.equal((await xks.send('health', health)).status, 200)
  assert.equal((await sendSigned(xks.wire, '/aws/kms/xks/v1/health', health, signing)).status, 401)
  assert.equal((await sendSigned(xks.wire, '/kms/xks/v1/health', health, signing)).status, 401)
})

test('over its rate AWS KMS is told to come later', async () => {
  await using xks = await startXks({ config: { 'aws_xks_config.aws_xks_rate_limit_per_second': 5 } })
  const answers = []
  for (let count = 0; count < 8; count++) answers.push(await xks.send('health', health))
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length > 0 && answers[0]?.status === 200)
  for (const { json, headers } of refused) {
    assert.equal(json.errorName, 'ThrottlingException')
    assert.ok(Number(headers['retry-after']) >= 1)
  }
})

test('the service says where the proxy is, and describes it', async () => {
  await using xks = await startXks()
  const alice = xks.kms.user('alice')
  const info = (await alice.get('/server-info')).json
  assert.deepEqual(info.external_stores, [
    { name: 'aws', endpoint: 'https://localhost', paths: ['/aws/kms/xks/v1'], stopped: false },
  ])
  const document = (await alice.get('/openapi.yaml')).text
  assert.match(document, /\/aws\/kms\/xks\/v1\/keys\/\{externalKeyId\}\/encrypt/)
  assert.match(document, /awsSigV4/)
})

test('health is no health where the database does not answer, or the record cannot be written', async () => {
  await using xks = await startXks({ auditMode: 'reject' })
  assert.equal((await xks.send('health', health)).status, 200)
  xks.kms.breakAudit()
  const { status, json } = await xks.send('health', health)
  assert.deepEqual([status, json.errorName], [503, 'DependencyTimeoutException'])
})

test('an access key that the settings give in part stops the start', async () => {
  await assert.rejects(
    startXks({ config: { 'aws_xks_config.aws_xks_region': 'eu-west-1' } }),
    /set aws_xks_config\.aws_xks_sigv4_access_key_id and aws_xks_config\.aws_xks_sigv4_secret_access_key/,
  )
})
