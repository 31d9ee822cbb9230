import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { startAuth } from '../testing/start.ts'
import { removeEndedSessions } from './session-store.ts'

const idOf = async (as: ReturnType<typeof scene>['as'], cookie: string): Promise<string> =>
  (await as(cookie, 'GET', '/whoami')).json.jti

const nowhere = '00000000-0000-4000-8000-000000000000'

describe('sessions', () => {
  it('are visible only to their owner and to administrators of the realm (A24)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, admin, logIn } = scene(auth)
    await realm('r')
    await realm('s')
    for (const name of ['ann', 'bob', 'chief']) await user('r', name)
    await user('s', 'ann')
    await admin('chief', ['r'], { userpass: 'chief' })
    const ann = await logIn('r', 'ann')
    const [bob, chief, foreign] = [
      await logIn('r', 'bob'),
      await logIn('r', 'chief'),
      await logIn('s', 'ann'),
    ]
    const id = await idOf(as, ann)
    const own = await as(ann, 'GET', `/sessions/${id}`)
    assert.equal(own.status, 200)
    assert.equal(own.json.cookie_string, ann)
    assert.deepEqual(
      { ...own.json, cookie_string: '', created_at: 0 },
      {
        session_id: id,
        realm_id: 'r',
        username: 'ann',
        auth_scheme: 'up',
        cookie_string: '',
        max_age_seconds: 3600,
        max_stale_age_seconds: 600,
        created_at: 0,
      },
    )
    assert.equal((await as(chief, 'GET', `/sessions/${id}`)).json.cookie_string, '')
    assert.equal((await asSuper('GET', `/sessions/${id}`)).json.username, 'ann')
    for (const cookie of [bob, foreign]) {
      const answer = await as(cookie, 'GET', `/sessions/${id}`)
      assert.equal(answer.status, 200)
      assert.equal(answer.json, null)
      const post = { authenticated_clients: [{ username: 'ann', auth_scheme: 'up' }] }
      const action = { ...post, sessions_action: 'LogoutAllSessions' }
      assert.equal((await as(cookie, 'POST', `/sessions/${id}`, action)).json, null)
      assert.equal(
        (await as(cookie, 'POST', '/sessions/realms/r/clients', post.authenticated_clients)).status,
        403,
      )
      assert.equal((await as(cookie, 'DELETE', '/sessions', { session_ids: [id] })).status, 403)
      assert.equal((await as(cookie, 'DELETE', '/sessions/realms/r')).status, 403)
      assert.equal((await as(cookie, 'DELETE', '/sessions/expired')).status, 403)
    }
    assert.equal((await as(chief, 'DELETE', '/sessions/realms/s')).status, 403)
    for (const [method, path, json] of [
      ['GET', `/sessions/${id}`],
      ['POST', `/sessions/${id}`, { authenticated_clients: [] }],
      ['POST', '/sessions/realms/r/clients', []],
      ['DELETE', '/sessions', { session_ids: [id] }],
      ['DELETE', '/sessions/expired'],
      ['DELETE', '/sessions/realms/r'],
    ] as const) {
      assert.equal((await auth.call(method, path, { json })).status, 401, `${method} ${path}`)
    }
    assert.equal((await as(ann, 'GET', `/sessions/${nowhere}`)).json, null)
    assert.equal((await as(ann, 'GET', '/whoami')).status, 200, 'it is still there')
    assert.equal((await as(chief, 'DELETE', '/sessions/realms/r')).status, 204)
    assert.equal((await as(ann, 'GET', '/whoami')).status, 401)
    assert.equal((await as(foreign, 'GET', '/whoami')).status, 200)
  })

  it('are logged out by client, with both spellings of the scheme', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, logIn } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    await user('r', 'bob')
    const cookies = [await logIn('r', 'ann'), await logIn('r', 'ann'), await logIn('r', 'bob')]
    const [first = '', second = '', bob = ''] = cookies
    const id = await idOf(as, first)
    const list = async (json: unknown) => asSuper('POST', '/sessions/realms/r/clients', json)
    const short = [{ username: 'ann', auth_scheme: 'up' }]
    const long = [{ username: 'ann', auth_scheme: 'UsernamePassword' }]
    assert.equal((await list(short)).json.session_ids.length, 2)
    assert.equal((await list({ authenticated_clients: long })).json.session_ids.length, 2)
    assert.deepEqual((await list([{ username: 'ann', auth_scheme: 'Jwt' }])).json.session_ids, [])
    assert.deepEqual((await list([])).json, { session_ids: [] })
    assert.equal((await list([{ username: 'ann', auth_scheme: 'x' }])).status, 400)

    const act = (cookie: string, authenticated_clients: unknown, sessions_action?: unknown) =>
      as(cookie, 'POST', `/sessions/${id}`, { authenticated_clients, sessions_action })
    assert.equal((await act(first, long, null)).json.session_id, id)
    assert.equal(
      (await act(first, [{ username: 'bob', auth_scheme: 'up' }], 'LogoutAllSessions')).status,
      403,
    )
    // The session belongs to none of the listed clients, so nothing changes.
    const admin = await auth.superCookie()
    assert.equal(
      (await act(admin, [{ username: 'bob', auth_scheme: 'up' }], 'LogoutAllSessions')).status,
      200,
    )
    assert.equal((await as(bob, 'GET', '/whoami')).status, 200)
    assert.equal((await act(first, long, 'LogoutOtherSessions')).json.session_id, id)
    assert.equal((await as(second, 'GET', '/whoami')).status, 401)
    assert.equal((await as(first, 'GET', '/whoami')).status, 200)
    assert.equal((await act(first, long, 'LogoutEverything')).status, 400)
    const all = await act(first, short, 'LogoutAllSessions')
    assert.equal(all.json.cookie_string, first, 'as it was before')
    assert.equal((await as(first, 'GET', '/whoami')).status, 401)
    assert.equal((await asSuper('DELETE', '/sessions', { session_ids: [] })).status, 204)
    assert.equal((await asSuper('DELETE', '/sessions', { session_ids: [nowhere] })).status, 204)
  })

  it('are extended by each use, end by disuse or by age, and are swept', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, realm, user, logIn, asSuper } = scene(auth)
    await realm('r', { session_max_age_seconds: 1000, session_max_stale_age_seconds: 300 })
    await user('r', 'ann')
    const [idle, busy] = [await logIn('r', 'ann'), await logIn('r', 'ann')]
    const admin = await auth.superCookie()
    // Later changes of the realm do not affect existing sessions.
    await asSuper('PUT', '/admins/realms/r', {
      auth_params: {},
      session_max_age_seconds: 1,
      session_max_stale_age_seconds: 1,
    })
    for (let elapsed = 0; elapsed < 900; elapsed += 150) {
      assert.equal((await as(busy, 'GET', '/whoami')).status, 200)
      auth.clock.advance(150)
    }
    assert.equal((await as(idle, 'GET', '/whoami')).status, 401)
    // A session that was seen to have ended stays ended when the clock is set back.
    auth.clock.advance(-900)
    assert.equal((await as(idle, 'GET', '/whoami')).status, 401)
    auth.clock.advance(900)
    assert.equal((await as(busy, 'GET', '/whoami')).status, 200)
    auth.clock.advance(101)
    assert.equal((await as(busy, 'GET', '/whoami')).status, 401)
    assert.equal((await as(admin, 'DELETE', '/sessions/expired')).status, 204)
    assert.equal((await as(admin, 'GET', '/whoami')).status, 200)
    assert.equal(await removeEndedSessions(auth.db.commit, auth.services.now()), 0)
    auth.clock.advance(4000)
    assert.equal(await removeEndedSessions(auth.db.commit, auth.services.now()), 1)
  })

  it('are written at most once per tenth of their stale age', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, logIn } = scene(auth)
    await realm('r', { session_max_age_seconds: 1000, session_max_stale_age_seconds: 300 })
    await user('r', 'ann')
    const ann = await logIn('r', 'ann')
    const id = await idOf(as, ann)
    const began = auth.services.now()
    const end = async (): Promise<number> =>
      (await asSuper('GET', '/sessions/realms/r')).json.sessions[0].ends_at - began
    const ends: number[] = []
    for (const seconds of [29, 1, 29, 1]) {
      auth.clock.advance(seconds)
      await Promise.all(Array.from({ length: 5 }, () => as(ann, 'GET', '/whoami')))
      ends.push(await end())
    }
    assert.deepEqual(ends, [300, 330, 330, 360])
    auth.clock.advance(60)
    await asSuper('GET', `/sessions/${id}`)
    assert.equal(await end(), 420, 'to be looked at is a use')
    // A clock that is set back neither shortens a session nor extends it beyond its age.
    auth.clock.advance(-100)
    assert.equal((await as(ann, 'GET', '/whoami')).status, 200)
    assert.equal(await end(), 420)
    for (let step = 0; step < 5; step++) {
      auth.clock.advance(200)
      await as(ann, 'GET', '/whoami')
    }
    assert.equal((await as(ann, 'GET', '/whoami')).status, 401)
  })

  it('can be read and ended by machines with the policy', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, admin, logIn } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    await user('r', 'chief')
    await admin('chief', ['r'], { userpass: 'chief' })
    const ann = await logIn('r', 'ann')
    const chief = await logIn('r', 'chief')
    const id = await idOf(as, ann)
    const tokenWith = async (name: string, policies: string[], query = '') => {
      const role = { token_policies: policies, bind_secret_id: false }
      assert.equal((await asSuper('POST', `/auth/approle/role/${name}${query}`, role)).status, 204)
      const { role_id } = (await asSuper('GET', `/auth/approle/role/${name}/role-id`)).json.data
      return (await auth.call('POST', '/auth/approle/login', { json: { role_id } })).json.auth.client_token
    }
    const [reader, ender, none, within] = [
      await tokenWith('reader', ['sessions']),
      await tokenWith('ender', ['sessions-admin']),
      // Policies are compared exactly (A19).
      await tokenWith('none', ['Sessions', 'SESSIONS-ADMIN', 'sessions.', 'root', '*']),
      await tokenWith('within', ['sessions'], '?realm=r'),
    ]
    const look = (token: string) => auth.call('GET', `/sessions/${id}`, { token })
    const end = (token: string) => auth.call('DELETE', '/sessions', { token, json: { session_ids: [id] } })
    const root = await idOf(as, await auth.superCookie())
    // Without cookie: the cookie has the rights of its owner, which no policy for sessions includes.
    const looked = [
      [reader, id],
      [within, id],
      [ender, id],
      [reader, root],
      [ender, root],
    ] as const
    for (const [token, session] of looked) {
      const seen = await auth.call('GET', `/sessions/${session}`, { token })
      assert.equal(seen.json.session_id, session)
      assert.equal(seen.json.cookie_string, '')
      const json = { authenticated_clients: [], sessions_action: null }
      const acted = await auth.call('POST', `/sessions/${session}`, { token, json })
      assert.equal(acted.json.session_id, session)
      assert.equal(acted.json.cookie_string, '')
    }
    assert.equal((await look(none)).status, 403)
    assert.equal((await auth.call('GET', `/sessions/${root}`, { token: within })).json, null)
    assert.equal((await end(reader)).status, 403)
    assert.equal((await auth.call('GET', '/whoami', { token: reader })).status, 401)
    assert.equal((await auth.call('GET', '/admins/realms', { token: ender })).status, 401)
    const grab = { token_policies: ['sessions-admin'] }
    assert.equal((await as(chief, 'POST', '/auth/approle/role/grab', grab)).status, 403)
    assert.equal((await as(chief, 'POST', '/auth/approle/role/within', {})).status, 403)
    // A realm admin cannot take over a policy that the super admin gave to a machine of the realm.
    for (const [method, path] of [
      ['GET', '/auth/approle/role/within/role-id'],
      ['POST', '/auth/approle/role/within/secret-id'],
      ['PUT', '/v1/auth/approle/role/within/secret-id'],
    ] as const) {
      assert.equal((await as(chief, method, path, {})).status, 403, path)
    }
    assert.equal((await as(chief, 'GET', '/auth/approle/role/within')).status, 200, 'it may look')
    assert.equal((await end(ender)).status, 204)
    assert.equal((await as(ann, 'GET', '/whoami')).status, 401)
  })
})
