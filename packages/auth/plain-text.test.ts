import assert from 'node:assert/strict'
import { it } from 'node:test'
import { scene } from './testing/scene.ts'
import { startAuth } from './testing/start.ts'

/**
 * PostgreSQL does not support NUL in text: such values must be refused with 400 before a statement, not answered with
 * 500.
 */
it('texts with control characters are refused wherever they would reach the database', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { asSuper, realm, user } = scene(auth)
  await realm('r')
  await user('r', 'ann')
  for (const text of ['a\u0000b', '\u0000', 'a\u0007', 'a\u0085b']) {
    const where = encodeURIComponent(text)
    const cursor = Buffer.from(JSON.stringify([text, 'x'])).toString('base64url')
    const role = { jwks_url: 'https://idp.example/keys' }
    const calls: Record<string, Promise<{ readonly status: number }>> = {
      'role id': auth.call('POST', '/auth/approle/login', { json: { role_id: text } }),
      role: auth.call('POST', '/auth/orchestrator/login', { json: { role: text, jwt: 'a.b.c' } }),
      'admin id': asSuper('POST', '/admins', { id: text, realms: [] }),
      userpass: asSuper('POST', '/admins', { id: 'x', realms: [], userpass: text }),
      'admin realm': asSuper('POST', '/admins', { id: 'x', realms: [text] }),
      client: asSuper('POST', '/sessions/realms/r/clients', [{ username: text, auth_scheme: 'up' }]),
      'session id': asSuper('DELETE', '/sessions', { session_ids: [text] }),
      'session path': asSuper('GET', `/sessions/${where}`),
      username: asSuper('POST', '/realms/r/userpass', {
        username: text,
        password_input: { plaintext: 'correct horse' },
      }),
      'TOTP name': asSuper('POST', '/realms/r/totp/generate', { username: text }),
      after: asSuper('GET', `/admins/userpass?after=${where}`),
      'sessions of': asSuper('GET', `/sessions/realms/r?username=${where}`),
      issuer: asSuper('POST', '/auth/orchestrator/role/x', { ...role, expected_issuer: text }),
      'key set': asSuper('POST', '/auth/orchestrator/role/x', { jwks_url: `https://idp/${text}` }),
      login: auth.call('POST', `/login?realm=${where}`, { basic: 'ann:correct horse' }),
    }
    for (const [name, call] of Object.entries(calls)) {
      const { status } = await call
      const expected = name === 'session path' && text === 'a\u0085b' ? [200, 400] : [400]
      assert.ok(expected.includes(status), `${name} ${JSON.stringify(text)}: ${status}`)
    }
    if (text.includes('\u0000')) {
      assert.equal((await asSuper('GET', `/sessions/realms/r?after=${cursor}`)).status, 400)
    }
    const basic = `${text}:correct horse`
    assert.ok([401, 429].includes((await auth.call('POST', '/login?realm=r', { basic })).status))
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token: 'wt.x' })).status, 403)
  }
  // JSON text is stored unchanged, but no body may contain U+0000.
  const kept = { auth_params: { client_certificate_params: { allowed_common_names: ['a\u0007b'] } } }
  await realm('s', kept)
  assert.deepEqual((await asSuper('GET', '/admins/realms/s')).json.auth_params, kept.auth_params)
  const secretive = { username: 'bob', password_input: { plaintext: 'a\u0000password' } }
  assert.equal((await asSuper('POST', '/realms/r/userpass', secretive)).status, 400)
})
