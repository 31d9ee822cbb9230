import assert from 'node:assert/strict'
import { it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { knownHash, startAuth } from '../testing/start.ts'

const ages = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
const passwords = { username_password_params: { allow_expired_passwords: false } }
const provider = { jwt_issuer_uri: 'https://idp.example', jwks_uri: 'https://idp.example/keys' }
const tokens = { jwt_params: { idp_params: [provider] } }

it('the realm `_` keeps a login method for a super administrator: otherwise 409, and nothing changes', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { asSuper, user, admin } = scene(auth)
  const put = async (auth_params: object) =>
    (await asSuper('PUT', '/admins/realms/_', { auth_params, ...ages })).status
  const before = (await asSuper('GET', '/admins/realms/_')).json
  for (const [what, params] of Object.entries({
    nothing: {},
    'tokens, of which no super administrator has one': tokens,
    'certificates, which TLS does not request': { client_certificate_params: {} },
  })) {
    assert.equal(await put(params), 409, what)
    assert.deepEqual((await asSuper('GET', '/admins/realms/_')).json, before)
  }
  assert.equal(await put(passwords), 200)
  await user('_', 'bob')
  await admin('bob', ['_'], { jwt: 'bob' })
  assert.equal(await put({ jwt_params: { idp_params: [] } }), 409, 'no provider at all')
  assert.equal(await put(tokens), 200)
  assert.equal(await put({}), 409)
  assert.equal(await put(passwords), 200)
  Object.assign(auth.services, { asksForCertificates: true })
  await admin('carol', ['_'], { client_certificate: 'carol' })
  assert.equal(await put({}), 200)
})

it('an administrator of another realm or a missing password does not count as a login method', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { asSuper, realm, admin } = scene(auth)
  await realm('r')
  await admin('of r', ['r'], { jwt: 'x' })
  await admin('token', ['_'], { jwt: 'y', userpass: 'nobody' })
  assert.equal((await asSuper('PUT', '/admins/realms/_', { auth_params: tokens, ...ages })).status, 200)
  const later = await asSuper('PUT', '/admins/token', { realms: ['_'], userpass: 'nobody' })
  assert.equal(later.status, 200)
  assert.equal((await asSuper('PUT', '/admins/realms/_', { auth_params: tokens, ...ages })).status, 409)
  const hashed = { username: 'nobody', password_input: { hashed: knownHash } }
  assert.equal((await asSuper('POST', '/realms/_/userpass', hashed)).status, 201)
  assert.equal((await asSuper('PUT', '/admins/realms/_', { auth_params: passwords, ...ages })).status, 200)
})
