import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { bootstrap } from '../bootstrap.ts'
import { readCookie, startAuth } from '../testing/start.ts'

describe('the first run', () => {
  it('creates a super admin once, and writes the random password to a file of mode 0600', async () => {
    await using auth = await startAuth()
    const file = join(auth.home, 'initial-admin-password')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.ok(auth.adminPassword.length >= 20)
    assert.ok(auth.notices.join('\n').includes(file))
    assert.ok(!auth.notices.join('\n').includes(auth.adminPassword), 'notices go to logs')
    assert.deepEqual(await bootstrap(auth.environment), [])
    assert.equal(readFileSync(file, 'utf8').trim(), auth.adminPassword)

    const login = await auth.call('POST', '/login?realm=_', { basic: `admin:${auth.adminPassword}` })
    assert.equal(login.status, 200)
    assert.equal(login.json.next_step, 'Authenticated')
    assert.match(login.json.session_id, /^[0-9a-f-]{36}$/)
    const [header] = login.headers['set-cookie'] ?? []
    assert.match(
      header ?? '',
      /^_ea_=[A-Za-z0-9_.-]+; HttpOnly; Secure; SameSite=Strict; Path=\/; Max-Age=3600$/,
    )
    const cookie = readCookie(login)

    const who = await auth.call('GET', '/whoami?realm=_', { cookie })
    assert.equal(who.status, 200)
    assert.equal(who.json.sub, 'admin')
    assert.equal(who.json.as_rid, '_')
    assert.equal(who.json.as_as, 'up')
    assert.deepEqual(who.json.aud, ['_'])
    assert.equal(who.json.jti, login.json.session_id)
    assert.equal(who.json.nbf, who.json.iat)
    assert.equal(who.json.exp, who.json.iat + 3600)

    const realm = await auth.call('POST', '/admins/realms', {
      cookie,
      json: {
        id: 'acme',
        auth_params: { username_password_params: { allow_expired_passwords: false } },
        session_max_age_seconds: 600,
        session_max_stale_age_seconds: 300,
      },
    })
    assert.equal(realm.status, 201, realm.text)
    assert.equal(realm.json.certificate_max_age_seconds, 31_536_000)
    const user = await auth.call('POST', '/realms/acme/userpass', {
      cookie,
      json: { username: 'ann', password_input: { plaintext: 'correct horse' }, roles: ['dev'] },
    })
    assert.equal(user.status, 201, user.text)
    const ann = await auth.logIn('acme', 'ann:correct horse')
    const whoAnn = await auth.call('GET', '/whoami?realm=acme', { cookie: ann })
    assert.deepEqual(whoAnn.json.roles, ['dev'])
    assert.equal((await auth.call('GET', '/whoami?realm=_', { cookie: ann })).status, 401)

    const out = await auth.call('DELETE', '/sessions', { cookie, json: { session_ids: [who.json.jti] } })
    assert.equal(out.status, 204)
    assert.equal((await auth.call('GET', '/whoami?realm=_', { cookie })).status, 401)

    assert.equal((await auth.call('GET', '/public/version')).text, '0.1.0')
    assert.equal((await auth.call('GET', '/.well-known/jwks.json')).json.keys.length, 1)
    assert.equal((await auth.call('GET', '/.well-known/certificate-jwks.json')).json.keys.length, 1)
    assert.equal((await auth.call('GET', '/health')).status, 200)
    assert.ok(!JSON.stringify(auth.events).includes(auth.adminPassword))
    assert.ok(!auth.logged.join('\n').includes(auth.adminPassword))
  })

  it('uses the password of the environment instead, and writes no file', async () => {
    await using auth = await startAuth({ adminPassword: 'given by the operator' })
    assert.throws(() => statSync(join(auth.home, 'initial-admin-password')))
    assert.ok(!auth.notices.join('\n').includes('given by the operator'))
    await auth.superCookie()
  })
})
