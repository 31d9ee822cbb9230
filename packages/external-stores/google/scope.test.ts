import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { StartupError, version } from '@warder/base'
import { startKms } from '@warder/kms/testing'
import {
  dataKey,
  type GoogleWorld,
  kaclsUrl,
  provider,
  signingKid,
  startGoogle,
  trialKid,
  wrappingKid,
} from './testing/world.ts'

let world: GoogleWorld
before(async () => {
  world = await startGoogle()
})
after(() => world[Symbol.asyncDispose]())

const wrap = async (of = world) => of.post('wrap', { ...(await of.tokens()), key: dataKey })

test('it is off by default: its paths are not there', async () => {
  await using plain = await startKms()
  assert.equal((await plain.with({}).get('/google_cse/status')).status, 404)
  assert.equal((await plain.with({}).post('/google_cse/wrap', {})).status, 404)
  assert.deepEqual((await plain.user('admin').get('/server-info')).json.external_stores, [])
})

test('status has the members of the reference, and says what is there', async () => {
  const { status, json } = await world.get('status')
  assert.equal(status, 200)
  assert.deepEqual(json, {
    name: 'Warder',
    vendor_id: 'Warder',
    version,
    server_type: 'KACLS',
    operations_supported: [
      'wrap',
      'unwrap',
      'digest',
      'rewrap',
      'privilegedwrap',
      'privilegedunwrap',
      'privatekeysign',
      'privatekeydecrypt',
      'privilegedprivatekeydecrypt',
      'wrapprivatekey',
      'delegate',
    ],
  })
  for (const operation of json.operations_supported)
    assert.equal((await world.post(operation, {})).status, 401, operation)
})

test('certs is a key set with the public half alone', async () => {
  const { json } = await world.get('certs')
  assert.deepEqual(Object.keys(json), ['keys'])
  const [{ n, ...rest }] = json.keys
  assert.deepEqual(rest, { kty: 'RSA', e: 'AQAB', use: 'sig', alg: 'RS256', kid: signingKid })
  assert.equal(Buffer.from(n, 'base64url').length, 256)
})

test('failures before, in and beside an operation have the shape of the reference', async () => {
  const cases = [
    ['GET', '/google_cse/wrap', {}, 405],
    ['GET', '/google_cse/nothing', {}, 404],
    ['POST', '/google_cse/wrap', { text: 'x', headers: { 'content-type': 'text/plain' } }, 400],
    ['POST', '/google_cse/wrap', { text: '[' }, 400],
    ['POST', '/google_cse/wrap', { json: {} }, 401],
    ['POST', '/google_cse/wrap', { text: 'x'.repeat(70_000) }, 413],
  ] as const
  for (const [method, path, call, status] of cases) {
    const answer = await world.kms.with({}).call(method, path, call)
    assert.equal(answer.status, status, `${method} ${path} ${answer.text}`)
    assert.deepEqual(Object.keys(answer.json), ['code', 'message', 'details'])
    assert.equal(answer.json.code, status)
    assert.equal(answer.json.details, `request ${answer.headers['x-request-id']}`)
  }
})

test("pages of Google's clients may call it from any origin, and no cookie goes with it", async () => {
  const origin = 'https://client-side-encryption.google.com'
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  }
  const preflight = await world.kms.with({}).call('OPTIONS', '/google_cse/wrap', { headers })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers['access-control-allow-origin'], '*')
  assert.equal(preflight.headers['access-control-allow-methods'], 'POST')
  assert.equal(preflight.headers['access-control-allow-headers'], 'content-type')
  assert.equal(preflight.headers['access-control-allow-credentials'], undefined)
  const body = { ...(await world.tokens()), key: dataKey }
  const answer = await world.kms.with({ origin }).post('/google_cse/wrap', body)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.equal(answer.headers['access-control-allow-credentials'], undefined)
  const elsewhere = await world.kms.with({ origin }).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.equal(elsewhere.status, 403)
})

test('it is listed with its address, and has its section in openapi.yaml', async () => {
  const { external_stores } = (await world.kms.user('alice').get('/server-info')).json
  const facts = {
    kacls_url: kaclsUrl,
    wrapping_key: wrappingKid,
    signing_key: signingKid,
    trial_key: trialKid,
  }
  assert.deepEqual(external_stores, [{ name: 'google', ...facts, stopped: false }])
  const { text } = await world.kms.with({}).get('/openapi.yaml')
  assert.match(text, /\/google_cse\/privilegedprivatekeydecrypt/)
  assert.match(text, /googleTokens/)
})

test('stopped, it answers nobody, from the next request on, until it is started', async () => {
  await using other = await startGoogle({ issuers: world.issuers })
  const admin = other.kms.user('admin')
  assert.equal((await wrap(other)).status, 200)
  assert.equal((await admin.post('/v1/external-stores/google/stop', {})).status, 200)
  const refused = await wrap(other)
  assert.equal(refused.status, 403)
  assert.deepEqual(refused.json.message, 'The operator of the key service stopped client-side encryption.')
  for (const operation of ['status', 'certs']) assert.equal((await other.get(operation)).status, 403)
  assert.equal((await admin.post('/v1/external-stores/google/start', {})).status, 200)
  assert.equal((await wrap(other)).status, 200)
})

test('all users together make as many requests as its limit says, whoever asks for its status', async () => {
  const limit = { 'google_cse_config.google_cse_rate_limit_per_second': 2 }
  let time = 0
  const clock = { now: () => Date.now(), monotonic: () => time }
  await using slow = await startGoogle({ issuers: world.issuers, config: limit, clock })
  for (let index = 0; index < 3; index += 1) await slow.get('status')
  const statuses = []
  for (let index = 0; index < 3; index += 1) statuses.push((await wrap(slow)).status)
  assert.deepEqual(statuses, [200, 200, 429])
  assert.equal((await slow.post('wrap', {})).status, 401, 'who is nobody is not counted')
  const answer = await wrap(slow)
  assert.equal(answer.headers['retry-after'], '1')
  assert.equal(answer.json.code, 429)
  time += 1000
  assert.equal((await wrap(slow)).status, 200)
})

const wrongSettings: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  ['no wrapping key', { google_cse_key: undefined }, /requires google_cse_config\.google_cse_key/],
  ['no signing key', { google_cse_signing_key: undefined }, /google_cse_signing_key/],
  ['no domain', { google_cse_owner_domain: undefined }, /google_cse_owner_domain/],
  [
    'a provider whose keys are those of users of this service',
    { google_cse_identity_providers: [`${provider},https://kms.example.com/.well-known/jwks.json,cse`] },
    /contains keys of its users/,
  ],
  ['itself as another key service', { google_cse_incoming_url_whitelist: [`${kaclsUrl}/`] }, /itself/],
]
for (const [name, settings, message] of wrongSettings) {
  test(`it does not start with ${name}`, async () => {
    const config = Object.fromEntries(
      Object.entries(settings).map(([key, value]) => [`google_cse_config.${key}`, value]),
    )
    await assert.rejects(startGoogle({ issuers: world.issuers, config }), (error: unknown) => {
      assert.ok(error instanceof StartupError, String(error))
      assert.match(error.message, message)
      return true
    })
  })
}
