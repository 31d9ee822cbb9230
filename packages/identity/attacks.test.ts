import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { principalNamed } from '@warder/keys'
import { startKms } from '@warder/kms/testing'
import { sessionCookie } from './session-cookie.ts'

const key = { kty: 'oct', alg: 'A256GCM' }
const data = Buffer.from('attack at dawn').toString('base64url')

test('no method can give a name that belongs to another one (K14)', () => {
  const methods = ['tls_auth', 'jwt_auth', 'auth_verifier', 'app_token', 'spiffe', 'session', 'api_token']
  for (const method of methods) {
    for (const [name, owner] of [
      ['app:billing', 'app_token'],
      ['spiffe://prod.test/billing', 'spiffe'],
    ] as const) {
      if (method === owner) assert.equal(principalNamed(name, method).name, name)
      else assert.throws(() => principalNamed(name, method), { kind: 'unauthorized' }, `${method} ${name}`)
    }
    for (const name of [
      '*',
      ' app:billing',
      '\u200bapp:billing',
      'app:billing\u0000',
      '\ufeffadmin',
      'a\u202edmin',
    ])
      assert.throws(() => principalNamed(name, method), { kind: 'unauthorized' }, JSON.stringify(name))
  }
})

test('names that look alike are different users: rights of one are not those of the other (K14)', async () => {
  await using kms = await startKms()
  const names = [
    'alice',
    'Alice',
    'ALICE',
    'аlice',
    'ａlice',
    'jos\u00e9',
    'jose\u0301',
    'ss',
    'ß',
    'İ',
    'i̇',
    'ﬀ',
    'ff',
  ]
  const kids = new Map<string, string>()
  const callers = new Map(names.map((name) => [name, kms.user(name)]))
  for (const [name, caller] of callers) {
    const made = await caller.post('/v1/crypto/keys', key)
    assert.equal(made.status, 200, `${name} ${made.text}`)
    kids.set(name, made.json.kid)
  }
  for (const [owner, itself] of callers) {
    for (const [name, caller] of callers) {
      const body = { kid: kids.get(owner), alg: 'dir', enc: 'A256GCM', data }
      const { status } = await caller.post('/v1/crypto/encrypt', body)
      assert.equal(status, name === owner ? 200 : 404, `${name} with the key of ${owner}`)
    }
    assert.equal((await itself.get('/access/owned')).json.length, 1)
  }
  const grant = { unique_identifier: kids.get('alice'), user_id: 'jos\u00e9', operation_types: ['encrypt'] }
  assert.equal((await kms.user('alice').post('/access/grant', grant)).status, 200)
  const body = { kid: kids.get('alice'), alg: 'dir', enc: 'A256GCM', data }
  assert.equal((await kms.user('jos\u00e9').post('/v1/crypto/encrypt', body)).status, 200)
  assert.equal((await kms.user('jose\u0301').post('/v1/crypto/encrypt', body)).status, 404)
})

test('a session cookie is for every node and every start of one installation, and for no other (K15, 2025-012)', async () => {
  const rootKey = randomBytes(32)
  let now = Date.now()
  const clock = { now: () => now, monotonic: () => now }
  const config = { auth_verifier_url: 'https://127.0.0.1:1', auth_verifier_realm: 'people' }
  const user = { name: 'alice', realm: 'people' }
  await using first = await startKms({ rootKey, config, clock })
  const cookie = sessionCookie(first.environment, user).split(';')[0] ?? ''
  assert.equal((await first.with({ cookie }).get('/me')).json.user, 'alice')
  // It opens the seal of the database anew, as another node does, and the same one after a restart.
  await using second = await startKms({ db: first.environment.db, rootKey, config, clock })
  assert.notEqual(second.services.seal, first.services.seal)
  assert.equal((await second.with({ cookie }).get('/me')).json.user, 'alice')
  // Another installation, also one with the same root key: its data keys are its own.
  await using other = await startKms({ rootKey, config, clock })
  assert.equal((await other.with({ cookie }).get('/me')).status, 401)
  // A value sealed for another purpose is no session.
  const { seal } = second.services
  const content = Buffer.from(JSON.stringify({ ...user, until: now + 1000 }))
  for (const place of [
    { table: 'auth_login', row: 'cookie', column: 'value' },
    { table: 'managed_object', row: 'cookie', column: 'material' },
  ]) {
    const value = Buffer.from(seal.seal(place, content)).toString('base64url')
    assert.equal((await second.with({ cookie: `auth_session=${value}` }).get('/me')).status, 401)
  }
  // A clock that jumps forward ends it.
  now += 86_400_000
  assert.equal((await second.with({ cookie }).get('/me')).status, 401)
})

test('clock jumps: a token is refused before its time and after it, and accepted again when the clock is right', async () => {
  const real = Date.now()
  let now = real
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => performance.now() } })
  const seconds = Math.floor(real / 1000)
  const token = kms.token({ sub: 'alice', nbf: seconds, exp: seconds + 600 })
  const status = async () => (await kms.with({ authorization: `Bearer ${token}` }).get('/me')).status
  assert.equal(await status(), 200)
  now = real + 700_000
  assert.equal(await status(), 401)
  now = real
  assert.equal(await status(), 200)
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', key)).json
  // Ids and versions made while the clock is back: what was made before is still there and still used.
  now = real - 30_000
  const again = await kms.user('alice').post('/v1/crypto/keys', key)
  assert.equal(again.status, 200)
  const body = { kid, alg: 'dir', enc: 'A256GCM', data }
  assert.equal((await kms.user('alice').post('/v1/crypto/encrypt', body)).status, 200)
  assert.equal((await kms.user('alice').del(`/v1/crypto/keys/${kid}`)).status, 204)
})
