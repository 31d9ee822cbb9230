import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { startAuth } from '../testing/start.ts'

const plain = { auth_params: {}, session_max_age_seconds: 60, session_max_stale_age_seconds: 30 }

describe('realms', () => {
  it('are created, read, replaced, listed and deleted by a super admin', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    const created = await asSuper('POST', '/admins/realms', { id: 'a-1_B', ...plain })
    assert.equal(created.status, 201)
    assert.deepEqual(created.json, { id: 'a-1_B', ...plain, certificate_max_age_seconds: 31_536_000 })
    assert.deepEqual((await asSuper('GET', '/admins/realms/a-1_B')).json, created.json)
    assert.equal((await asSuper('POST', '/admins/realms', { id: 'a-1_B', ...plain })).status, 409)

    const full = {
      auth_params: {
        username_password_params: { allow_expired_passwords: true },
        jwt_params: {
          idp_params: [{ jwt_issuer_uri: 'https://idp', jwks_uri: 'https://idp/keys', jwt_audience: 'us' }],
          smallest_refresh_interval_seconds: 5,
        },
        totp_params: { algorithm: 'SHA256', step: 60 },
        client_certificate_params: { allowed_common_names: ['ann'] },
      },
      session_max_age_seconds: 7,
      session_max_stale_age_seconds: 8,
      certificate_max_age_seconds: 9,
    }
    const replaced = await asSuper('PUT', '/admins/realms/a-1_B', { id: 'other', ...full })
    assert.equal(replaced.status, 200)
    assert.deepEqual(replaced.json, { id: 'a-1_B', ...full })
    // Replace semantics: members that are not sent are removed.
    const emptied = await asSuper('PUT', '/admins/realms/a-1_B', plain)
    assert.deepEqual(emptied.json.auth_params, {})
    const list = await asSuper('GET', '/admins/realms')
    assert.deepEqual(
      list.json.map(({ id }: { id: string }) => id),
      ['_', 'a-1_B'],
    )
    assert.equal((await asSuper('DELETE', '/admins/realms/a-1_B')).status, 204)
    assert.equal((await asSuper('DELETE', '/admins/realms/a-1_B')).status, 204)
    assert.equal((await asSuper('GET', '/admins/realms/a-1_B')).status, 404)
    assert.equal((await asSuper('PUT', '/admins/realms/a-1_B', plain)).status, 404)
    assert.equal((await asSuper('DELETE', '/admins/realms/_')).status, 403)
  })

  it('refuse every invalid member, and name it', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    const bad: [string, Record<string, unknown>][] = [
      ['id', { id: '..' }],
      ['id', { id: '.' }],
      ['id', { id: ' _' }],
      ['id', { id: '_ ' }],
      ['id', { id: '%5F' }],
      ['id', { id: '\uff3f' }],
      ['id', { id: 'a/b' }],
      ['id', { id: '' }],
      ['id', { id: 'x'.repeat(65) }],
      ['id', { id: undefined }],
      ['session_max_age_seconds', { session_max_age_seconds: 0 }],
      ['session_max_age_seconds', { session_max_age_seconds: 1.5 }],
      ['session_max_stale_age_seconds', { session_max_stale_age_seconds: -1 }],
      ['certificate_max_age_seconds', { certificate_max_age_seconds: 0 }],
      ['auth_params', { auth_params: null }],
      ['auth_params.totp_params', { auth_params: { totp_params: { algorithm: 'MD5' } } }],
      ['auth_params.totp_params', { auth_params: { totp_params: { step: 0 } } }],
      ['auth_params.saml_params', { auth_params: { saml_params: { metadata_xml: '<x/>' } } }],
      [
        'auth_params.jwt_params',
        { auth_params: { jwt_params: { idp_params: [{ jwt_issuer_uri: 'x', jwks_uri: 'http://idp/k' }] } } },
      ],
      [
        'auth_params.jwt_params',
        {
          auth_params: {
            jwt_params: { idp_params: [{ jwt_issuer_uri: 'x', jwks_uri: 'https://u:p@idp/k' }] },
          },
        },
      ],
      ['auth_params', { auth_params: { username_password_params: {} } }],
    ]
    for (const [member, change] of bad) {
      const answer = await asSuper('POST', '/admins/realms', { id: 'ok', ...plain, ...change })
      assert.equal(answer.status, 400, JSON.stringify(change))
      assert.equal(answer.json.error, 'bad_request')
      assert.ok(answer.json.description.includes(member), `${member}: ${answer.json.description}`)
    }
    assert.equal((await asSuper('GET', '/admins/realms/ok')).status, 404)
  })

  it('are deleted with everything that belongs to them', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user, admin, logIn, as } = scene(auth)
    await realm('gone')
    await user('gone', 'ann')
    await admin('ann', ['gone'], { userpass: 'ann' })
    const cookie = await logIn('gone', 'ann')
    await as(cookie, 'POST', '/auth/approle/role/worker', {})
    const secret = await as(cookie, 'POST', '/auth/approle/role/worker/secret-id', {})
    const { role_id } = (await as(cookie, 'GET', '/auth/approle/role/worker/role-id')).json.data
    const machine = await auth.call('POST', '/auth/approle/login', {
      json: { role_id, secret_id: secret.json.data.secret_id },
    })
    assert.equal(machine.status, 200, machine.text)
    await asSuper('DELETE', '/admins/realms/gone')
    assert.equal((await auth.call('GET', '/whoami', { cookie })).status, 401)
    const token = machine.json.auth.client_token
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token })).status, 403)
    assert.deepEqual((await asSuper('GET', '/admins/ann')).json.realms, [])
    assert.equal((await asSuper('GET', '/auth/approle/role/worker/role-id')).status, 404)
    await realm('gone')
    assert.deepEqual((await asSuper('GET', '/realms/gone/userpass')).json, [])
  })
})
