import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { readCookie, startAuth, testAuthority } from '../testing/start.ts'

describe('login with a client certificate', () => {
  it('is refused after the certificate expires, also on a connection that is already open', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm } = scene(auth)
    await realm('any', { auth_params: { client_certificate_params: {} } })
    const ann = auth.clientWith(await auth.authority.issue('ann', 'client', 1))
    assert.equal((await ann.call('POST', '/login?realm=any')).status, 200)
    auth.clock.advance(2 * 86_400)
    assert.equal((await ann.call('POST', '/login?realm=any')).status, 401)
    assert.ok(auth.events.some(({ reason }) => reason === 'certificate_not_verified'))
  })

  it('is accepted only for names that the realm or an Admin allows, and only from the client CA (A15)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, admin, as } = scene(auth)
    await realm('any', { auth_params: { client_certificate_params: {} } })
    await realm('some', { auth_params: { client_certificate_params: { allowed_common_names: ['ann'] } } })
    await realm('none', { auth_params: {} })
    const ann = await auth.authority.issue('ann', 'client')
    const bob = await auth.authority.issue('bob', 'client')
    const fingerprint = new X509Certificate(bob.cert).fingerprint256.replaceAll(':', '').toLowerCase()
    const logIn = async (identity: { cert: string; key: string }, name: string, headers = {}) =>
      auth.clientWith(identity).call('POST', `/login?realm=${name}`, { headers })

    const answer = await logIn(ann, 'some')
    assert.equal(answer.status, 200, answer.text)
    const cookie = readCookie(answer)
    const who = (await as(cookie, 'GET', '/whoami')).json
    assert.deepEqual([who.sub, who.as_as, who.as_rid, who.roles], ['ann', 'cc', 'some', []])
    assert.equal((await logIn(bob, 'any')).status, 200)
    for (const name of ['some', 'none', '_', 'nowhere'])
      assert.equal((await logIn(bob, name)).status, 401, name)
    // A malformed credential is not replaced by the certificate.
    assert.equal((await logIn(ann, 'some', { authorization: 'Basic !' })).status, 401)

    await admin('bob', ['none'], { client_certificate: fingerprint })
    assert.equal((await logIn(bob, '_')).status, 200)
    const chief = await logIn(bob, 'none')
    assert.equal(chief.status, 200)
    assert.equal((await as(readCookie(chief), 'GET', '/realms/none/userpass')).status, 200)
    assert.equal((await as(readCookie(chief), 'GET', '/realms/any/userpass')).status, 403)
    // A certificate whose name looks like a fingerprint does not match that fingerprint.
    const impostor = await auth.authority.issue(fingerprint, 'client')
    for (const name of ['none', '_']) assert.equal((await logIn(impostor, name)).status, 401, name)
    const welcome = await logIn(impostor, 'any')
    assert.equal(welcome.status, 200)
    await admin('bob of any', ['any'], { client_certificate: fingerprint })
    assert.equal((await as(readCookie(welcome), 'GET', '/realms/any/userpass')).status, 403)
    const otherBob = await auth.authority.issue('bob', 'client')
    assert.equal((await logIn(otherBob, 'none')).status, 401, 'the fingerprint is of the other one')

    const foreign = await (await testAuthority()).issue('ann', 'client')
    const refusal = await auth.call('POST', '/login?realm=some')
    const answers = [await logIn(foreign, 'some'), await logIn(bob, 'some'), await logIn(ann, 'nowhere')]
    for (const { status, text, headers } of answers) {
      assert.deepEqual([status, text], [401, refusal.text], 'one answer to all, as to no certificate at all')
      assert.equal(headers['www-authenticate'], refusal.headers['www-authenticate'])
    }
    assert.ok(auth.events.some(({ reason }) => reason === 'client_certificate_refused'))
    for (const name of ['ANN', 'ann,', 'ann\\,CN=bob', 'ann/CN=bob', 'a*n', 'ann\u200b']) {
      const variant = await auth.authority.issue(name, 'client')
      assert.equal((await logIn(variant, 'some')).status, 401, JSON.stringify(name))
    }
    assert.equal((await logIn(foreign, 'some')).status, 401)
    assert.equal((await logIn(foreign, 'any')).status, 401)
    // A server certificate does not authenticate a client, whichever CA issued it.
    assert.equal((await logIn(await auth.authority.issue('ann', 'server'), 'any')).status, 401)
    assert.equal((await logIn(await auth.authority.issue('ann', 'client', -1), 'any')).status, 401)
    for (const name of ['*', '', ' ann', 'a\u0000nn', 'x'.repeat(300)]) {
      const strange = await auth.authority.issue(name, 'client')
      assert.equal((await logIn(strange, 'any')).status, 401, JSON.stringify(name))
    }
  })
})
