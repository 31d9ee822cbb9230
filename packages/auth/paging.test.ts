import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { credentialInsertion } from './methods/password/credential-store.ts'
import { realmInsertion } from './realms/realm-store.ts'
import { scene } from './testing/scene.ts'
import { knownHash, startAuth, type TestService } from './testing/start.ts'

const plain = { auth_params: {}, session_max_age_seconds: 60, session_max_stale_age_seconds: 30 }

async function realms(auth: TestService, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `r${String(index).padStart(5, '0')}`)
  for (let from = 0; from < count; from += 1000) {
    const some = ids.slice(from, from + 1000)
    await auth.db.commit(some.map((id) => realmInsertion({ id, ...plain, certificate_max_age_seconds: 60 })))
  }
  return ids
}

describe('lists', () => {
  it('are complete without limit, also ten thousand realms, and the same in pages', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    const ids = ['_', ...(await realms(auth, 10_000))]
    const whole = (await asSuper('GET', '/admins/realms')).json
    assert.deepEqual(
      whole.map(({ id }: { id: string }) => id),
      ids,
    )
    // A streamed list has no gap where a slice ends with the table.
    const lastTwoSlices = (await asSuper('GET', `/admins/realms?after=${ids[8000]}`)).json
    assert.deepEqual(
      lastTwoSlices.map(({ id }: { id: string }) => id),
      ids.slice(8001),
    )
    assert.deepEqual((await asSuper('GET', `/admins/realms?after=${ids.at(-1)}`)).json, [])
    const seen: string[] = []
    for (let page = 0; page < 4; page++) {
      const after = seen.at(-1) ?? ''
      const answer = await asSuper('GET', `/admins/realms?limit=4000&after=${after}`)
      seen.push(...answer.json.map(({ id }: { id: string }) => id))
    }
    assert.deepEqual(seen, ids)
    for (const limit of ['0', '-1', '10000', '1.5', 'x', '']) {
      assert.equal((await asSuper('GET', `/admins/realms?limit=${limit}`)).status, 400, limit)
    }
  })

  it('of credentials and administrators are paged by name, and across realms by realm and name', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, admin } = scene(auth)
    await realms(auth, 3)
    const names = ['a/b', 'ann', 'zoë']
    const users = ['r00000', 'r00001'].flatMap((realm) =>
      names.map((username) =>
        credentialInsertion({
          realm,
          username,
          passwordHash: knownHash,
          changePassword: false,
          roles: [],
          extraClaims: undefined,
        }),
      ),
    )
    await auth.db.commit(users)
    for (const id of ['b', 'c']) await admin(id, ['r00000', 'r00001'])
    const walk = async (path: string, keyOf: (entry: Record<string, string>) => string) => {
      const seen: string[] = []
      for (let page = 0; page < 10; page++) {
        const after = encodeURIComponent(seen.at(-1) ?? '')
        const { json } = await asSuper('GET', `${path}?limit=2&after=${after}`)
        if (json.length === 0) return seen
        assert.ok(json.length <= 2)
        seen.push(...json.map(keyOf))
      }
      return seen
    }
    assert.deepEqual(await walk('/realms/r00000/userpass', ({ username }) => username ?? ''), names)
    assert.deepEqual(await walk('/admins', ({ id }) => id ?? ''), ['admin', 'b', 'c'])
    assert.deepEqual((await asSuper('GET', '/admins?limit=1&after=b')).json[0].realms, ['r00000', 'r00001'])
    assert.deepEqual(await walk('/admins/userpass', ({ realm, username }) => `${realm}/${username}`), [
      '_/admin',
      ...['r00000', 'r00001'].flatMap((realm) => names.map((name) => `${realm}/${name}`)),
    ])
  })

  it('of a realm admin contain the realms that they administer, in pages too', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, user, admin, logIn } = scene(auth)
    await realms(auth, 4)
    await user('_', 'chief')
    await admin('chief', ['r00000', 'r00002', 'r00003'], { userpass: 'chief' })
    const chief = await logIn('_', 'chief')
    const list = async (query: string): Promise<string[]> =>
      (await as(chief, 'GET', `/admins/realms${query}`)).json.map(({ id }: { id: string }) => id)
    assert.deepEqual(await list(''), ['r00000', 'r00002', 'r00003'])
    assert.deepEqual(await list('?limit=2'), ['r00000', 'r00002'])
    assert.deepEqual(await list('?limit=2&after=r00001'), ['r00002', 'r00003'])
  })

  it('of sessions are for administrators, extend no session and contain no cookies', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, admin, logIn } = scene(auth)
    for (const id of ['r', 's']) await realm(id, { session_max_stale_age_seconds: 100 })
    for (const name of ['ann', 'bob', 'chief']) await user('r', name)
    await admin('chief', ['r'], { userpass: 'chief' })
    const [first, second, bob] = [await logIn('r', 'ann'), await logIn('r', 'ann'), await logIn('r', 'bob')]
    const list = async (query = '') => (await asSuper('GET', `/sessions/realms/r${query}`)).json
    const { sessions } = await list()
    assert.deepEqual(
      sessions.map(({ username }: { username: string }) => username),
      ['ann', 'ann', 'bob'],
    )
    assert.ok(![first, second, bob].some((cookie) => JSON.stringify(sessions).includes(cookie)))
    const seen: unknown[] = []
    for (let next: string | undefined = '', page = 0; next !== undefined && page < 5; page++) {
      const answer: { sessions: unknown[]; next?: string } = await list(
        `?limit=2${next === '' ? '' : `&after=${next}`}`,
      )
      seen.push(...answer.sessions)
      next = answer.next
    }
    assert.deepEqual(seen, sessions)
    assert.equal((await list('?username=bob')).sessions.length, 1)
    assert.equal((await list('?username=nobody')).sessions.length, 0)
    for (const after of ['x', 'W10', 'WzEsMl0', Buffer.from('["a","b","c"]').toString('base64url')]) {
      assert.equal((await asSuper('GET', `/sessions/realms/r?after=${after}`)).status, 400, after)
    }
    const chief = await logIn('r', 'chief')
    assert.equal((await as(chief, 'GET', '/sessions/realms/r')).status, 200)
    assert.equal((await as(chief, 'GET', '/sessions/realms/s')).status, 403)
    for (const method of ['GET', 'DELETE']) {
      assert.equal((await asSuper(method, '/sessions/realms/nowhere')).status, method === 'GET' ? 404 : 204)
      assert.equal((await as(chief, method, '/sessions/realms/nowhere')).status, 403)
    }
    assert.equal((await as(first, 'GET', '/sessions/realms/r')).status, 403)
    assert.equal((await auth.call('GET', '/sessions/realms/r')).status, 401)
    for (let look = 0; look < 2; look++) {
      auth.clock.advance(60)
      await list()
    }
    assert.equal((await as(bob, 'GET', '/whoami')).status, 401, 'being listed is no use of a session')
    assert.deepEqual((await list()).sessions, [])
  })
})
