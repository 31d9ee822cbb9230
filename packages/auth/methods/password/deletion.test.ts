import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { query } from '@warder/storage'
import { fromBase32 } from '../../base32.ts'
import { scene } from '../../testing/scene.ts'
import { readCookie, startAuth, type TestService } from '../../testing/start.ts'
import { codeAt } from '../totp/code.ts'

const counted = query<[], { readonly rows: number }>('SELECT COUNT(*) AS rows FROM session')
const orphans = [
  `SELECT COUNT(*) AS rows FROM app_token WHERE role_kind = 'approle'
     AND role_name NOT IN (SELECT name FROM approle_role)`,
  'SELECT COUNT(*) AS rows FROM secret_id WHERE role_name NOT IN (SELECT name FROM approle_role)',
  'SELECT COUNT(*) AS rows FROM session WHERE realm_id NOT IN (SELECT id FROM realm)',
  `SELECT COUNT(*) AS rows FROM session s WHERE auth_scheme = 'up' AND NOT EXISTS
     (SELECT 1 FROM credential c WHERE c.realm_id = s.realm_id AND c.username = s.username)`,
  'SELECT COUNT(*) AS rows FROM jwt_subject WHERE realm_id NOT IN (SELECT id FROM realm)',
  'SELECT COUNT(*) AS rows FROM credential WHERE realm_id NOT IN (SELECT id FROM realm)',
  'SELECT COUNT(*) AS rows FROM totp WHERE realm_id NOT IN (SELECT id FROM realm)',
  'SELECT COUNT(*) AS rows FROM admin_realm WHERE realm_id NOT IN (SELECT id FROM realm)',
  'SELECT COUNT(*) AS rows FROM approle_role WHERE realm_id NOT IN (SELECT id FROM realm)',
].map((text) => query<[], { readonly rows: number }>(text))

async function nothingIsLeftOver(auth: TestService, when: string): Promise<void> {
  for (const statement of orphans) {
    const row = await auth.db.get(statement, [])
    assert.equal(Number(row?.rows), 0, `${when}: ${statement.text}`)
  }
}

describe('a credential that is deleted (A22)', () => {
  it('loses its sessions, powers and TOTP at once; tokens belong to roles and stay', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, admin, logIn, as, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'chief')
    await user('r', 'bob')
    await admin('chief', ['r'], { userpass: 'chief' })
    const [first, second, bob] = [
      await logIn('r', 'chief'),
      await logIn('r', 'chief'),
      await logIn('r', 'bob'),
    ]
    assert.equal(
      (await as(first, 'POST', '/auth/approle/role/worker', { bind_secret_id: false })).status,
      204,
    )
    const { role_id } = (await as(first, 'GET', '/auth/approle/role/worker/role-id')).json.data
    const machine = await auth.call('POST', '/auth/approle/login', { json: { role_id } })
    const token = machine.json.auth.client_token
    const made = await asSuper('POST', '/realms/r/totp/generate', { username: 'chief' })
    const { secret_base32: secret } = made.json
    const code = codeAt(fromBase32(secret) ?? Buffer.alloc(0), Math.floor(auth.services.now() / 30), 'SHA1')
    const enrolled = { username: 'chief', token: code, secret }
    assert.equal((await asSuper('POST', '/realms/r/totp/verify', enrolled)).status, 200)

    assert.equal((await asSuper('DELETE', '/realms/r/userpass/chief')).status, 204)
    for (const cookie of [first, second]) {
      for (const path of ['/whoami', '/realms/r/userpass', '/admins/realms', '/auth/approle/role']) {
        assert.equal((await as(cookie, 'GET', path)).status, 401, path)
      }
    }
    assert.equal((await as(bob, 'GET', '/whoami')).status, 200)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token })).status, 200)
    await nothingIsLeftOver(auth, 'deleted')
    // Another user who gets the name has neither the session nor the second factor of the old one.
    await user('r', 'chief')
    assert.equal((await as(first, 'GET', '/whoami')).status, 401)
    const login = await auth.call('POST', '/login?realm=r', { basic: 'chief:correct horse' })
    assert.equal(login.json.next_step, 'Authenticated')
    assert.equal((await as(readCookie(login), 'GET', '/whoami')).status, 200)
    // Deleting the role deletes its tokens.
    assert.equal((await asSuper('DELETE', '/auth/approle/role/worker')).status, 204)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token })).status, 403)
  })
})

describe('a deletion during a login', () => {
  const rounds = 6
  const crowd = <R>(run: () => Promise<R>): Promise<R[]> =>
    Promise.all(Array.from({ length: 6 }, () => run()))

  it('of a role leaves no token of it', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    await auth.superCookie()
    for (let round = 0; round < rounds; round++) {
      await asSuper('POST', '/auth/approle/role/worker', { bind_secret_id: false })
      const { role_id } = (await asSuper('GET', '/auth/approle/role/worker/role-id')).json.data
      const login = () => auth.call('POST', '/auth/approle/login', { json: { role_id } })
      const secret = () => asSuper('POST', '/auth/approle/role/worker/secret-id', {})
      const [logins, secrets, deleted] = await Promise.all([
        crowd(login),
        crowd(secret),
        asSuper('DELETE', '/auth/approle/role/worker'),
      ])
      assert.equal(deleted.status, 204)
      assert.ok(logins.every(({ status }) => [200, 400].includes(status)))
      assert.ok(
        secrets.every(({ status }) => [200, 404, 409].includes(status)),
        String(secrets[0]?.status),
      )
      for (const { json, status } of logins) {
        if (status !== 200) continue
        const token = json.auth.client_token
        assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token })).status, 403)
      }
      await nothingIsLeftOver(auth, `round ${round}`)
    }
  })

  it('of a realm leaves no session, user, role, token or administrator of it', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user } = scene(auth)
    await auth.superCookie()
    await asSuper('POST', '/admins', { id: 'wanderer', realms: [] })
    for (let round = 0; round < rounds; round++) {
      await realm('gone')
      await user('gone', 'ann')
      await asSuper('POST', '/auth/approle/role/worker?realm=gone', { bind_secret_id: false })
      const { role_id } = (await asSuper('GET', '/auth/approle/role/worker/role-id')).json.data
      const hashed = { plaintext: 'a password' }
      await Promise.all([
        crowd(() => auth.call('POST', '/login?realm=gone', { basic: 'ann:correct horse' })),
        crowd(() => auth.call('POST', '/auth/approle/login', { json: { role_id } })),
        asSuper('POST', '/realms/gone/userpass', { username: 'late', password_input: hashed }),
        asSuper('PUT', '/admins/wanderer/realms/gone'),
        asSuper('POST', '/auth/approle/role/other?realm=gone', {}),
        new Promise((resolve) => setTimeout(resolve, 4 * round)).then(() =>
          asSuper('DELETE', '/admins/realms/gone'),
        ),
      ])
      await nothingIsLeftOver(auth, `round ${round}`)
    }
    assert.deepEqual((await asSuper('GET', '/admins/wanderer')).json.realms, [])
    assert.ok(Number((await auth.db.get(counted, []))?.rows) >= 1)
  })

  it('of a credential leaves no session of it', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user } = scene(auth)
    await realm('r')
    for (let round = 0; round < rounds; round++) {
      const name = `ann${round}`
      await user('r', name)
      const [logins] = await Promise.all([
        crowd(() => auth.call('POST', '/login?realm=r', { basic: `${name}:correct horse` })),
        new Promise((resolve) => setTimeout(resolve, 6 * round)).then(() =>
          asSuper('DELETE', `/realms/r/userpass/${name}`),
        ),
      ])
      for (const answer of logins) {
        if (answer.status !== 200) continue
        assert.equal((await auth.call('GET', '/whoami', { cookie: readCookie(answer) })).status, 401)
      }
      await nothingIsLeftOver(auth, `round ${round}`)
    }
  })
})
