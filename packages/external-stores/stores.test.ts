import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKms } from '@warder/kms/testing'
import { createMetrics } from '@warder/runtime'
import { mergeMetrics } from '@warder/runtime/testing'
import { parse } from 'yaml'
import { requestMetadata, sendSigned } from './aws/fixtures/xks.ts'
import { issue, pool, requestContext } from './azure/fixtures/ekm.ts'

const config = {
  kms_public_url: 'https://kms.example.com',
  'aws_xks_config.aws_xks_enable': true,
  'azure_ekm_config.azure_ekm_enable': true,
  'azure_ekm_config.azure_ekm_ca_cert_file': 'in the test',
  'azure_ekm_config.azure_ekm_client_names': [pool],
  'google_cse_config.google_cse_enable': true,
  'google_cse_config.google_cse_key': 'wrapping',
  'google_cse_config.google_cse_signing_key': 'signing',
  'google_cse_config.google_cse_owner_domain': 'example.com',
  'ms_dke_config.ms_dke_enable': true,
  'ms_dke_config.ms_dke_keys': ['finance=0199aaaa-0000-7000-8000-00000000000c'],
  'ms_dke_config.ms_dke_tenants': ['2ec40e65-ba09-4853-bcde-bcb60029e596'],
}
const origin = 'https://page.example'

/** One request of each, and the name by which it is counted. */
const requests = [
  ['aws', '/aws/kms/xks/v1/health', 'aws.xks.health', 'AWS XKS proxy'],
  ['azure', '/azureekm/info', 'azure.ekm.info', 'Azure EKM proxy'],
  ['google', '/google_cse/wrap', 'google_cse.wrap', 'Google Workspace CSE'],
  ['microsoft', '/ms_dke/finance/kid/decrypt', 'ms_dke.decrypt', 'Microsoft DKE'],
] as const

test('no request of a store holds several items, so that its one audit record has the outcome of its one item', async () => {
  await using kms = await startKms({ config })
  const { paths } = parse((await kms.user('admin').get('/openapi.yaml')).text)
  const own = /^\/(aws|azureekm|google_cse|ms_dke)\//
  const bodies = Object.entries<Record<string, { requestBody?: unknown }>>(paths).flatMap(([path, item]) =>
    own.test(path) && item.post?.requestBody !== undefined ? [[path, item.post.requestBody] as const] : [],
  )
  assert.ok(bodies.length > 10)
  for (const [path, body] of bodies) assert.doesNotMatch(JSON.stringify(body), /"array"|batch/i, path)
})

test('all four stores are listed, described, counted by operation, and readable for pages of any origin', async () => {
  const authority = await issue('Azure clients')
  const client = await issue(pool, authority)
  const metrics = createMetrics()
  await using kms = await startKms({ config, partners: { azure: authority.certificatePem }, metrics })
  const admin = kms.user('admin')
  const { external_stores } = (await admin.get('/server-info')).json
  const names = external_stores.map(({ name, stopped }: Record<string, unknown>) => [name, stopped])
  assert.deepEqual(
    names,
    requests.map(([name]) => [name, false]),
  )

  const listed = (await admin.get('/v1/external-stores')).json
  const values = Object.fromEntries(
    listed.map(({ name, public_url, enabled, stopped, ...rest }: Record<string, unknown>) => [name, rest]),
  )
  const endpoint = config.kms_public_url
  assert.deepEqual(values, {
    aws: { endpoint, paths: ['/aws/kms/xks/v1'] },
    azure: { endpoint, paths: ['/azureekm'], client_names: [pool] },
    google: { kacls_url: `${endpoint}/google_cse`, wrapping_key: 'wrapping', signing_key: 'signing' },
    microsoft: {
      service_url: `${endpoint}/ms_dke`,
      key_urls: [`${endpoint}/ms_dke/finance`],
      keys: { finance: '0199aaaa-0000-7000-8000-00000000000c' },
    },
  })

  const description = parse((await admin.get('/openapi.yaml')).text)
  assert.deepEqual(description, (await admin.get('/openapi.json')).json)
  const { paths, tags } = description
  for (const [, path, , section] of requests) {
    const described = path.replace('finance/kid/decrypt', '{key_name}/{key_id}/{action}')
    assert.deepEqual(paths[described]?.post?.tags, [section], described)
    if (tags !== undefined) assert.ok(tags.some(({ name }: { name: string }) => name === section))
    const anonymous = kms.with({ origin })
    const { status, headers } = await anonymous.post(path, {})
    assert.equal(status, 401, path)
    assert.equal(headers['access-control-allow-origin'], '*', path)
    assert.equal(headers['access-control-allow-credentials'], undefined)
    const asked = { origin, 'access-control-request-method': 'POST' }
    const preflight = await kms.with({}).call('OPTIONS', path, { headers: asked })
    assert.equal(preflight.headers['access-control-allow-origin'], '*', path)
  }

  const { id, secret } = (await admin.post('/v1/external-stores/aws/access-keys', { region: 'eu-west-1' }))
    .json
  const health = { requestMetadata: requestMetadata('KmsHealthCheck') }
  const wire = kms.with({})
  const sent = await sendSigned(wire, '/aws/kms/xks/v1/health', health, { credential: { id, secret } })
  assert.equal(sent.status, 200)
  const azure = kms.presenting(client.certificatePem, client.keyPem)
  const info = await azure.post('/azureekm/info?api-version=0.1-preview', { request_context: requestContext })
  assert.equal(info.status, 200, info.text)

  const text = await mergeMetrics([await metrics.snapshot()])
  for (const [, , operation] of requests) {
    assert.match(text, new RegExp(`warder_operations_total\\{operation="${operation}",status="401"\\} 1`))
    assert.match(text, new RegExp(`warder_operation_duration_seconds_count\\{operation="${operation}"\\}`))
  }
  for (const operation of ['aws.xks.health', 'azure.ekm.info'])
    assert.match(text, new RegExp(`warder_operations_total\\{operation="${operation}",status="200"\\} 1`))
})

test('no credential of a user gives the name of a cloud, to which keys are granted', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const clouds = [
    'aws:*',
    'aws:arn:aws:iam::123456789012:user/Alice',
    'google:*',
    'microsoft:*',
    `azure:${pool}`,
  ]
  for (const user_id of clouds) {
    const granted = { unique_identifier: kid, user_id, operation_types: ['encrypt', 'decrypt'] }
    assert.equal((await alice.post('/access/grant', granted)).status, 200, user_id)
    const body = { kid, alg: 'dir', enc: 'A256GCM', data: 'aGVsbG8' }
    assert.equal((await kms.user(user_id).post('/v1/crypto/encrypt', body)).status, 401, user_id)
    assert.equal((await kms.user(user_id).get('/me')).status, 401, user_id)
  }
})
