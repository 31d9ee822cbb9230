import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newAuthenticator, startPasskeys } from '../methods/passkey/testing/passkey-scene.ts'
import { readCookie } from '../testing/start.ts'

interface Listed {
  readonly session_id: string
  readonly auth_scheme: string
  readonly current: boolean
}

it('a user sees the sessions of their password and passkeys, and ends one or all others', async () => {
  await using test = await startPasskeys()
  const { auth, as, user, logIn, register, logInWith } = test
  await user('r', 'ben')
  const [own, other, ben] = [await logIn('r', 'ann'), await logIn('r', 'ann'), await logIn('r', 'ben')]
  const authenticator = newAuthenticator()
  await register(own, authenticator)
  const byPasskey = readCookie(await logInWith(authenticator))
  const list = async (cookie: string, query = '') => {
    const { status, json, text } = await as(cookie, 'GET', `/account/sessions${query}`)
    assert.equal(status, 200, text)
    return json as { readonly sessions: readonly Listed[]; readonly next?: string }
  }
  const statuses = async () =>
    Promise.all(
      [own, other, byPasskey, ben].map(async (cookie) => (await as(cookie, 'GET', '/whoami')).status),
    )
  const { sessions } = await list(own)
  assert.deepEqual(sessions.map(({ auth_scheme }) => auth_scheme).sort(), ['f2', 'up', 'up'])
  assert.ok(sessions.every((session) => !('cookie_string' in session)))
  const { jti } = (await as(own, 'GET', '/whoami')).json
  assert.deepEqual(
    sessions.filter(({ current }) => current).map(({ session_id }) => session_id),
    [jti],
  )
  const first = await list(own, '?limit=2')
  const rest = await list(own, `?limit=2&after=${first.next}`)
  assert.deepEqual([...first.sessions, ...rest.sessions], sessions)
  assert.equal(rest.next, undefined)

  const passkeySession = sessions.find(({ auth_scheme }) => auth_scheme === 'f2')?.session_id ?? ''
  const shown = await as(own, 'GET', `/sessions/${passkeySession}`)
  assert.equal(shown.json.cookie_string, '', 'a session of another scheme may have other powers')
  const ended = await as(own, 'DELETE', '/sessions', { session_ids: [passkeySession] })
  assert.equal(ended.status, 204)
  assert.deepEqual(await statuses(), [200, 200, 401, 200])
  assert.equal((await as(ben, 'DELETE', '/sessions', { session_ids: [jti] })).status, 403)
  assert.equal((await logInWith(authenticator)).status, 200)
  assert.equal((await as(own, 'DELETE', '/account/sessions')).status, 204)
  assert.deepEqual(await statuses(), [200, 401, 401, 200])
  assert.equal((await list(own)).sessions.length, 1)

  const out = await auth.call('POST', '/logout', { cookie: own })
  assert.equal(out.status, 204)
  assert.match(
    String(out.headers['set-cookie']),
    /^_ea_=; HttpOnly; Secure; SameSite=Strict; Path=\/; Max-Age=0$/,
  )
  assert.equal((await as(own, 'GET', '/account')).status, 401)
})

it('pages of other origins can neither log out, log in nor change factors', async () => {
  await using test = await startPasskeys()
  const { auth, logIn } = test
  const cookie = await logIn('r', 'ann')
  const headers = { origin: 'https://evil.example' }
  const calls = [
    ['POST', '/logout'],
    ['DELETE', '/account/sessions'],
    ['POST', '/account/totp/options'],
    ['DELETE', '/account/totp'],
    ['POST', '/account/recovery-codes'],
    ['POST', '/account/passkeys/options'],
    ['DELETE', '/account/passkeys/AAAA'],
    ['POST', '/passkeys/login/options?realm=r'],
    ['POST', '/login?realm=r'],
  ] as const
  for (const [method, path] of calls)
    assert.equal((await auth.call(method, path, { cookie, headers })).status, 403, path)
  assert.equal((await auth.call('GET', '/whoami', { cookie })).status, 200)
})

it('login pages learn which methods a realm has, and nothing about realms that do not exist', async () => {
  await using test = await startPasskeys()
  const { auth, realm } = test
  await realm('plain')
  await realm('closed', { auth_params: {} })
  const methods = async (id: string) => (await auth.call('GET', `/public/realms/${id}/logins`)).json.methods
  assert.deepEqual(await methods('r'), ['password', 'passkey'])
  assert.deepEqual(await methods('nowhere'), await methods('r'))
  assert.deepEqual(await methods('plain'), ['password'])
  assert.deepEqual(await methods('closed'), [])
})
