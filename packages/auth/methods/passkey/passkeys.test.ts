import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCookie } from '../../testing/start.ts'
import {
  challengeHeader,
  newAuthenticator,
  realmWithPasskeys,
  startPasskeys,
} from './testing/passkey-scene.ts'

describe('passkeys', () => {
  it('log in as the only factor, with every algorithm and without attestation or with self attestation', async () => {
    await using test = await startPasskeys()
    const { auth, as, logIn, register, logInWith } = test
    const cookie = await logIn('r', 'ann')
    for (const algorithm of [-7, -8, -257] as const)
      for (const attestation of ['none', 'self'] as const) {
        const authenticator = newAuthenticator({ algorithm, attestation })
        const made = await register(cookie, authenticator, { name: `${algorithm} ${attestation}` })
        assert.equal(made.status, 201, made.text)
        assert.equal(made.json.last_used_at, null)
        auth.clock.advance(1)
        const login = await logInWith(authenticator)
        assert.equal(login.status, 200, login.text)
        const claims = (await as(readCookie(login), 'GET', '/whoami?realm=r')).json
        assert.deepEqual(
          [claims.sub, claims.as_as, claims.as_rid, claims.roles, login.json.session_id],
          ['ann', 'f2', 'r', [], claims.jti],
        )
        const { passkeys } = (await as(cookie, 'GET', '/account/passkeys')).json
        const own = passkeys.find(({ id }: { id: string }) => id === made.json.id)
        assert.deepEqual(
          [own.last_used_at, own.counter_regressed_at, own.backed_up],
          [auth.services.now(), null, false],
        )
      }
    assert.equal(auth.counted.get('auth_logins_total{method="passkey",outcome="authenticated"}'), 6)
    const events = auth.events.filter(({ operation }) => operation === 'passkeys.login')
    assert.ok(events.every(({ principal, auth_method }) => principal === 'ann' && auth_method === 'f2'))
  })

  it('that are synchronized report no counter, and log in any number of times', async () => {
    await using test = await startPasskeys()
    const { logIn, register, logInWith } = test
    const authenticator = newAuthenticator({ counts: false })
    const made = await register(await logIn('r', 'ann'), authenticator)
    assert.equal(made.json.backed_up, true, made.text)
    const answers = await Promise.all([1, 2, 3, 4].map(() => logInWith(authenticator)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
  })

  it('are required after the password of a user who has one, also with other settings of the realm', async () => {
    await using test = await startPasskeys()
    const { auth, asSuper, logIn, register } = test
    const authenticator = newAuthenticator()
    const made = await register(await logIn('r', 'ann'), authenticator)
    assert.deepEqual([made.status, made.json.recovery_codes.length], [201, 10])
    const { totp, passkeys, recovery_codes: unused } = (await asSuper('GET', '/realms/r/persons/ann')).json
    assert.deepEqual([totp, passkeys, unused], [false, 1, 10], 'the administrator sees the state')
    const plain = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
    const auth_params = { username_password_params: { allow_expired_passwords: false } }
    const login = (call: object = {}) =>
      auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', ...call })
    for (const params of [realmWithPasskeys.auth_params, auth_params]) {
      assert.equal((await asSuper('PUT', '/admins/realms/r', { auth_params: params, ...plain })).status, 200)
      const asked = await login()
      assert.deepEqual(
        [asked.status, asked.json.next_step, asked.json.second_factors, asked.json.session_id],
        [200, 'TotpRequired', ['passkey'], null],
      )
      assert.equal((await login({ json: { totp_code: '123456' } })).json.next_step, 'TotpRequired')
      const json = { passkey: authenticator.get(asked.json.passkey_options) }
      const wrong = { basic: 'ann:wrong', json, headers: challengeHeader(asked) }
      assert.equal((await login(wrong)).status, 401)
      const answer = await login({ json, headers: challengeHeader(asked) })
      assert.equal(answer.json.next_step, 'Authenticated', answer.text)
      assert.equal((await login({ json, headers: challengeHeader(asked) })).status, 401, 'once')
      const recovery = { json: { totp_code: made.json.recovery_codes.pop() } }
      assert.equal((await login(recovery)).json.next_step, 'Authenticated')
      auth.clock.advance(5)
    }
  })

  it('are an answer for the change of a password, which a forced change needs again', async () => {
    await using test = await startPasskeys()
    const { auth, asSuper, logIn, register } = test
    const authenticator = newAuthenticator()
    await register(await logIn('r', 'ann'), authenticator)
    await asSuper('PUT', '/realms/r/userpass/ann', { change_password: true })
    const basic = 'ann:correct horse'
    const ask = () => auth.call('POST', '/login?realm=r', { basic })
    const first = await ask()
    const passkey = authenticator.get(first.json.passkey_options)
    const forced = await auth.call('POST', '/login?realm=r', {
      ...{ basic, json: { passkey } },
      headers: challengeHeader(first),
    })
    assert.equal(forced.json.next_step, 'ChangePassword', forced.text)
    const change = (json: object, headers = {}) =>
      auth.call('POST', '/password?realm=r', {
        ...{ basic, headers },
        json: { new_password: 'a longer secret', ...json },
      })
    assert.equal((await change({})).status, 401)
    assert.equal((await change({ passkey }, challengeHeader(first))).status, 401, 'used')
    auth.clock.advance(60)
    const again = await ask()
    const fresh = { passkey: authenticator.get(again.json.passkey_options) }
    assert.equal((await change(fresh, challengeHeader(again))).status, 204)
  })

  it('are listed, renamed and deleted by their user; deletion ends the other sessions that began with one', async () => {
    await using test = await startPasskeys()
    const { as, logIn, register, logInWith } = test
    const cookie = await logIn('r', 'ann')
    const [first, second] = [newAuthenticator(), newAuthenticator()]
    const lost = (await register(cookie, first, { name: 'Phone' })).json.id
    await register(cookie, second)
    const [byLost, own] = [readCookie(await logInWith(first)), readCookie(await logInWith(second))]
    const renamed = await as(own, 'PUT', `/account/passkeys/${lost}`, { name: 'Old phone' })
    assert.deepEqual([renamed.status, renamed.json.name], [200, 'Old phone'])
    assert.equal((await as(own, 'DELETE', `/account/passkeys/${lost}`)).status, 204)
    assert.equal((await as(own, 'DELETE', `/account/passkeys/${lost}`)).status, 204)
    const { passkeys } = (await as(own, 'GET', '/account/passkeys')).json
    assert.deepEqual(
      passkeys.map(({ name }: { name: string }) => name),
      ['Laptop'],
    )
    assert.equal((await as(byLost, 'GET', '/whoami')).status, 401)
    assert.equal((await as(own, 'GET', '/whoami')).status, 200)
    assert.equal((await as(cookie, 'GET', '/whoami')).status, 200)
    assert.equal((await logInWith(first)).status, 401)
    assert.equal((await as(own, 'PUT', `/account/passkeys/${lost}`, { name: 'x' })).status, 404)
  })

  it('are deleted with their user, their realm, or by an administrator of the realm', async () => {
    await using test = await startPasskeys()
    const { auth, as, asSuper, realm, user, admin, logIn, register, logInWith } = test
    await realm('s', realmWithPasskeys)
    await user('s', 'chief')
    await user('r', 'chief')
    await admin('chief of r', ['r'], { userpass: 'chief' })
    const [chief, foreign] = [await logIn('r', 'chief'), await logIn('s', 'chief')]
    const authenticator = newAuthenticator()
    await register(await logIn('r', 'ann'), authenticator)
    const session = readCookie(await logInWith(authenticator))
    const path = '/realms/r/passkeys/ann'
    for (const method of ['GET', 'DELETE']) assert.equal((await as(foreign, method, path)).status, 403)
    assert.equal((await as(chief, 'GET', path)).json.passkeys.length, 1)
    assert.equal((await as(chief, 'DELETE', path)).status, 204)
    assert.equal((await as(session, 'GET', '/whoami')).status, 401)
    const cookie = await logIn('r', 'ann')
    await register(cookie, authenticator)
    assert.equal((await asSuper('DELETE', '/realms/r/userpass/ann')).status, 204)
    await user('r', 'ann')
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 200)
    await register(await logIn('r', 'ann'), authenticator)
    assert.equal((await asSuper('DELETE', '/admins/realms/r')).status, 204)
    await realm('r', realmWithPasskeys)
    await user('r', 'ann')
    assert.equal((await logInWith(authenticator)).status, 401)
    assert.equal((await as(await logIn('r', 'ann'), 'GET', '/account/passkeys')).json.passkeys.length, 0)
  })

  it('give the powers of the Admins whose fido2 names the user', async () => {
    await using test = await startPasskeys()
    const { as, asSuper, admin, logIn, register, logInWith } = test
    const authenticator = newAuthenticator()
    const cookie = await logIn('r', 'ann')
    await register(cookie, authenticator)
    await admin('by password', ['r'], { userpass: 'someone' })
    const session = readCookie(await logInWith(authenticator))
    assert.equal((await as(session, 'GET', '/realms/r/userpass')).status, 403)
    await admin('by passkey', ['r'], { fido2: 'ann' })
    assert.equal((await as(session, 'GET', '/realms/r/userpass')).status, 200)
    assert.equal((await as(cookie, 'GET', '/realms/r/userpass')).status, 403, 'not by the password')
    assert.equal((await as(session, 'GET', '/admins')).status, 403)
    await asSuper('DELETE', '/admins/by%20passkey')
    assert.equal((await as(session, 'GET', '/realms/r/userpass')).status, 403)
  })

  it('of the last super administrator keep the realm _ open', async () => {
    await using test = await startPasskeys()
    const { auth, asSuper, register, logInWith } = test
    const ages = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 3600 }
    const put = (auth_params: object) => asSuper('PUT', '/admins/realms/_', { auth_params, ...ages })
    const both = { username_password_params: { allow_expired_passwords: true }, fido2_params: {} }
    assert.equal((await put(both)).status, 200)
    assert.equal((await put({ fido2_params: {} })).status, 409)
    const authenticator = newAuthenticator()
    assert.equal((await register(await auth.superCookie(), authenticator)).status, 201)
    await asSuper('PUT', '/admins/admin', { realms: ['_'], userpass: 'admin', fido2: 'admin' })
    assert.equal((await put({ fido2_params: {} })).status, 200)
    const session = readCookie(await logInWith(authenticator, {}, '_'))
    assert.equal((await auth.call('GET', '/admins', { cookie: session })).status, 200)
  })

  it('are not for realms, users and sessions without them', async () => {
    await using test = await startPasskeys()
    const { auth, as, realm, user, logIn } = test
    await realm('plain')
    await user('plain', 'ann')
    const cookie = await logIn('plain', 'ann')
    assert.equal((await as(cookie, 'POST', '/account/passkeys/options')).status, 409)
    const own = await logIn('r', 'ann')
    auth.clock.advance(899)
    assert.equal((await auth.call('GET', '/whoami', { cookie: own })).status, 401, 'idle')
    const recent = await logIn('r', 'ann')
    auth.clock.advance(500)
    await as(recent, 'GET', '/whoami')
    auth.clock.advance(399)
    assert.equal((await as(recent, 'POST', '/account/passkeys/options')).status, 200)
    auth.clock.advance(1)
    const late = await as(recent, 'POST', '/account/passkeys/options')
    assert.deepEqual([late.status, /log in again/.test(late.text)], [403, true])
    assert.equal((await as(recent, 'GET', '/account/passkeys')).status, 200)
  })

  it('end their sessions when the realm has no passkeys any more', async () => {
    await using test = await startPasskeys()
    const { as, asSuper, logIn, register, logInWith } = test
    const authenticator = newAuthenticator()
    const cookie = await logIn('r', 'ann')
    await register(cookie, authenticator)
    const session = readCookie(await logInWith(authenticator))
    const { auth_params } = { auth_params: { username_password_params: { allow_expired_passwords: false } } }
    await asSuper('PUT', '/admins/realms/r', {
      ...{ auth_params, session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 },
    })
    assert.equal((await as(session, 'GET', '/whoami')).status, 401)
    assert.equal((await as(cookie, 'GET', '/whoami')).status, 200)
    assert.equal((await logInWith(authenticator)).status, 401)
  })
})
