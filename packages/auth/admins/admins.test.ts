import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { startAuth } from '../testing/start.ts'

describe('administrators', () => {
  it('are managed by super admins; totp members in a body are ignored', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    await realm('r')
    const body = {
      id: 'chief',
      realms: ['r', 'r'],
      userpass: 'chief',
      totp_enabled: true,
      totp_secret: 'JBSWY3DPEHPK3PXP',
    }
    const created = await asSuper('POST', '/admins', body)
    assert.equal(created.status, 201, created.text)
    const expected = {
      id: 'chief',
      realms: ['r'],
      userpass: 'chief',
      jwt: null,
      fido2: null,
      digital_credentials: null,
      client_certificate: null,
      saml: null,
      totp_enabled: false,
      totp_secret: null,
      totp_auth_url: null,
    }
    assert.deepEqual(created.json, expected)
    assert.equal((await asSuper('POST', '/admins', body)).status, 409)
    assert.deepEqual((await asSuper('GET', '/admins/chief')).json, expected)
    const replaced = await asSuper('PUT', '/admins/chief', { ...body, id: 'other', realms: [], jwt: 'sub' })
    assert.deepEqual(replaced.json, { ...expected, realms: [], jwt: 'sub' })
    assert.deepEqual((await asSuper('PUT', '/admins/chief/realms/r')).json.realms, ['r'])
    assert.deepEqual((await asSuper('PUT', '/admins/chief/realms/r')).json.realms, ['r'])
    assert.deepEqual((await asSuper('DELETE', '/admins/chief/realms/r')).json.realms, [])
    assert.equal((await asSuper('PUT', '/admins/chief/realms/none')).status, 404)
    assert.equal((await asSuper('PUT', '/admins/nobody/realms/r')).status, 404)
    assert.equal((await asSuper('POST', '/admins', { id: 'x', realms: ['none'] })).status, 400)
    assert.equal((await asSuper('POST', '/admins', { id: 'x'.repeat(1000), realms: [] })).status, 400)
    assert.equal((await asSuper('POST', '/admins', { id: 'x' })).status, 400)
    // Under these no admin could be read: the paths lead elsewhere, or a client resolves them away.
    for (const id of ['realms', 'userpass', '.', '..', ' x', 'x ', 'e\u0301', '']) {
      assert.equal((await asSuper('POST', '/admins', { id, realms: [] })).status, 400, JSON.stringify(id))
    }
    for (const id of ['a/b', '%2F', 'é', 'a b', 'Realms']) {
      const path = `/admins/${encodeURIComponent(id)}`
      assert.equal((await asSuper('POST', '/admins', { id, realms: [] })).status, 201, id)
      assert.equal((await asSuper('GET', path)).json.id, id)
      assert.equal((await asSuper('DELETE', path)).status, 204)
    }
    assert.deepEqual(
      (await asSuper('GET', '/admins')).json.map(({ id }: { id: string }) => id),
      ['admin', 'chief'],
    )
    assert.equal((await asSuper('DELETE', '/admins/chief')).status, 204)
    assert.equal((await asSuper('DELETE', '/admins/chief')).status, 204)
    assert.equal((await asSuper('GET', '/admins/chief')).status, 404)
    assert.equal((await asSuper('PUT', '/admins/chief', { realms: [] })).status, 404)
    assert.equal((await asSuper('DELETE', '/admins/admin')).status, 409, 'the last super admin stays')
    assert.equal((await asSuper('PUT', '/admins/admin', { realms: ['r'] })).status, 409)
    assert.equal((await asSuper('DELETE', '/admins/admin/realms/_')).status, 409)
  })

  it('of a realm cannot reach anything outside of the realm (A17, A18)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, admin, logIn } = scene(auth)
    await realm('r')
    await realm('s')
    await user('r', 'chief')
    await admin('chief', ['r'], { userpass: 'chief' })
    await admin('both', ['r', 's'], { userpass: 'both' })
    await admin('nobody', [])
    const chief = await logIn('r', 'chief')
    const forbidden: [string, string, unknown?][] = [
      [
        'POST',
        '/admins/realms',
        { id: 'x', auth_params: {}, session_max_age_seconds: 1, session_max_stale_age_seconds: 1 },
      ],
      [
        'PUT',
        '/admins/realms/r',
        { auth_params: {}, session_max_age_seconds: 1, session_max_stale_age_seconds: 1 },
      ],
      ['DELETE', '/admins/realms/r'],
      ['GET', '/admins/realms/s'],
      ['GET', '/admins/realms/_'],
      ['GET', '/admins/realms/%5F'],
      ['GET', '/admins'],
      ['GET', '/admins/userpass'],
      ['POST', '/admins', { id: 'x', realms: ['_'] }],
      ['POST', '/admins', { id: 'x', realms: ['r', '_'] }],
      ['POST', '/admins', { id: 'x', realms: ['s'] }],
      ['POST', '/admins', { id: 'x', realms: [] }],
      ['GET', '/admins/admin'],
      ['GET', '/admins/both'],
      ['GET', '/admins/nobody'],
      ['PUT', '/admins/both', { realms: ['r'] }],
      ['PUT', '/admins/chief', { realms: ['r', '_'] }],
      ['PUT', '/admins/chief', { realms: ['r', 's'] }],
      ['DELETE', '/admins/both'],
      ['DELETE', '/admins/admin'],
      ['PUT', '/admins/chief/realms/_'],
      ['PUT', '/admins/chief/realms/%5F'],
      ['PUT', '/admins/chief/realms/s'],
      ['PUT', '/admins/admin/realms/r'],
      ['PUT', '/admins/nobody/realms/r'],
      ['DELETE', '/admins/both/realms/r'],
      ['GET', '/realms/s/userpass'],
      ['GET', '/realms/_/userpass'],
      ['GET', '/realms/%5F/userpass/admin'],
      ['GET', '/realms/R/userpass'],
      ['POST', '/realms/s/userpass', { username: 'x', password_input: { plaintext: 'a password' } }],
      ['DELETE', '/realms/_/userpass/admin'],
      ['POST', '/realms/s/totp/generate', { username: 'x' }],
      ['DELETE', '/realms/s/totp/x'],
      ['POST', '/auth/approle/role/x?realm=s', {}],
      ['POST', '/auth/approle/role/x?realm=_', {}],
    ]
    for (const [method, path, json] of forbidden) {
      const answer = await as(chief, method, path, json)
      assert.equal(answer.status, 403, `${method} ${path} ${JSON.stringify(json)}: ${answer.text}`)
    }
    for (const path of [
      '/realms/../userpass',
      '/realms/r%2F..%2F_/userpass',
      '/realms/./userpass',
      '/realms/..%2F_/userpass',
    ]) {
      const answer = await as(chief, 'GET', path)
      assert.ok([400, 404].includes(answer.status), `${path} ${answer.status}`)
    }
    assert.deepEqual(
      (await as(chief, 'GET', '/admins/realms')).json.map(({ id }: { id: string }) => id),
      ['r'],
    )
    assert.equal((await as(chief, 'POST', '/admins', { id: 'deputy', realms: ['r'] })).status, 201)
    assert.equal((await as(chief, 'PUT', '/admins/deputy', { realms: ['r'], userpass: 'x' })).status, 200)
    assert.equal((await as(chief, 'DELETE', '/admins/deputy/realms/r')).status, 200)
    assert.equal((await as(chief, 'GET', '/admins/deputy')).status, 403)
    assert.deepEqual((await asSuper('GET', '/admins/admin')).json.realms, ['_'])
  })

  it('lose their powers at once, and a namesake of another realm never has them', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, admin, logIn } = scene(auth)
    await realm('r')
    await realm('s')
    for (const id of ['r', 's']) await user(id, 'chief')
    await user('s', 'admin')
    await user('_', 'both')
    await admin('chief', ['r'], { userpass: 'chief' })
    await admin('both', ['r', 's'], { userpass: 'both' })
    const chief = await logIn('r', 'chief')
    const [namesake, fake] = [await logIn('s', 'chief'), await logIn('s', 'admin')]
    const both = await logIn('_', 'both')
    assert.equal((await as(chief, 'GET', '/realms/r/userpass')).status, 200)
    for (const cookie of [namesake, fake]) {
      for (const path of ['/realms/r/userpass', '/realms/s/userpass', '/admins/realms', '/admins']) {
        assert.equal((await as(cookie, 'GET', path)).status, 403, path)
      }
    }
    for (const path of ['/realms/r/userpass', '/realms/s/userpass', '/admins/both']) {
      assert.equal((await as(both, 'GET', path)).status, 200, path)
    }
    assert.equal((await as(both, 'GET', '/realms/_/userpass')).status, 403)
    for (const path of ['/admins/realms', '/realms/r/userpass', '/admins']) {
      assert.equal((await auth.call('GET', path)).status, 401)
    }
    await asSuper('DELETE', '/admins/both/realms/s')
    assert.equal((await as(both, 'GET', '/realms/s/userpass')).status, 403)
    await asSuper('DELETE', '/admins/chief')
    assert.equal((await as(chief, 'GET', '/realms/r/userpass')).status, 403)
    assert.equal((await as(chief, 'GET', '/whoami')).status, 200)
  })
})
