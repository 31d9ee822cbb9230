import assert from 'node:assert/strict'
import { it } from 'node:test'
import { scene } from './testing/scene.ts'
import { knownHash, startAuth } from './testing/start.ts'

it('null for an optional member means absence, in every request', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { asSuper, realm } = scene(auth)
  const ages = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
  await realm('r')
  const auth_params = {
    username_password_params: null,
    jwt_params: null,
    totp_params: { algorithm: null, step: null },
    client_certificate_params: { allowed_common_names: null },
    saml_params: null,
  }
  const bare = { auth_params, ...ages, certificate_max_age_seconds: null }
  const made = await asSuper('POST', '/admins/realms', { id: 's', ...bare })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(made.json.auth_params.totp_params, { algorithm: 'SHA1', step: 30 })
  assert.equal((await asSuper('PUT', '/admins/realms/s', { id: null, ...bare })).status, 200)

  const empty = { realm: null, change_password: null, roles: null, extra_claims: null }
  const passwords = [
    { hashed: knownHash, plaintext: null },
    { hashed: null, plaintext: 'a password' },
  ]
  for (const [index, password_input] of passwords.entries()) {
    const username = `user${index}`
    const user = await asSuper('POST', '/realms/r/userpass', { username, password_input, ...empty })
    assert.equal(user.status, 201, user.text)
    assert.equal(user.json.change_password, false)
  }
  const neither = { username: 'x', password_input: { hashed: null, plaintext: null } }
  assert.equal((await asSuper('POST', '/realms/r/userpass', neither)).status, 400)
  const kept = { username: null, password_input: null, ...empty }
  assert.equal((await asSuper('PUT', '/realms/r/userpass/user0', kept)).status, 200)
  assert.equal(
    (await auth.call('POST', '/login?realm=r', { basic: 'user0:correct horse', json: { totp_code: null } }))
      .status,
    200,
  )

  const role = { token_ttl: null, secret_id_ttl: null, token_policies: null, bind_secret_id: null }
  assert.equal((await asSuper('POST', '/auth/approle/role/job', role)).status, 204)
  assert.deepEqual((await asSuper('GET', '/auth/approle/role/job')).json.data, {
    token_ttl: 3600,
    secret_id_ttl: 0,
    token_policies: [],
    bind_secret_id: true,
  })
  const secret = await asSuper('POST', '/auth/approle/role/job/secret-id', { ttl: null, num_uses: null })
  assert.equal(secret.status, 200, secret.text)
  const pods = {
    jwks_url: 'https://pods.example/keys',
    bound_service_account_names: null,
    bound_service_account_namespaces: null,
    token_ttl: null,
    expected_issuer: null,
    bound_audiences: null,
  }
  assert.equal((await asSuper('POST', '/auth/orchestrator/role/pods', pods)).status, 204)

  const required = await asSuper('POST', '/admins/realms', { ...bare, id: null })
  assert.equal(required.status, 400, 'a required member may not be null')
})
