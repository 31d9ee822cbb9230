import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { startAuth, type TestService } from '../testing/start.ts'
import { removeExpiredSecretIds } from './approle-store.ts'
import { removeExpiredTokens } from './token-store.ts'

/** Creates a role and returns its id and a function that issues secret ids. */
async function role(auth: TestService, name: string, fields: Record<string, unknown> = {}) {
  const { asSuper } = scene(auth)
  assert.equal((await asSuper('POST', `/auth/approle/role/${name}`, fields)).status, 204)
  const { role_id } = (await asSuper('GET', `/auth/approle/role/${name}/role-id`)).json.data
  return {
    role_id: role_id as string,
    async secret(json: unknown = {}) {
      const made = await asSuper('POST', `/auth/approle/role/${name}/secret-id`, json)
      assert.equal(made.status, 200, made.text)
      return made.json.data as { secret_id: string; secret_id_accessor: string }
    },
  }
}

const start = () => startAuth({ adminPassword: 'correct horse' })

describe('machines', () => {
  it('exchange a role id and a secret id for a token that they can look up, renew and revoke', async () => {
    await using auth = await start()
    const worker = await role(auth, 'worker', { token_ttl: 100, token_policies: ['read', 'a,b'] })
    const { secret_id } = await worker.secret()
    const login = await auth.call('PUT', '/auth/approle/login', {
      body: JSON.stringify({ role_id: worker.role_id, secret_id }),
    })
    assert.equal(login.status, 200, login.text)
    const { client_token: token, ...rest } = login.json.auth
    assert.match(token, /^wt\.[A-Za-z0-9_-]{43}$/)
    assert.deepEqual(rest, {
      renewable: true,
      lease_duration: 100,
      policies: ['read', 'a,b'],
      metadata: { role_name: 'worker' },
    })
    const lookup = () => auth.call('GET', '/auth/token/lookup-self', { token })
    auth.clock.advance(40)
    const { data } = (await lookup()).json
    assert.deepEqual(
      { ...data, creation_time: 0 },
      {
        id: token,
        entity_id: 'worker',
        policies: ['read', 'a,b'],
        renewable: true,
        ttl: 60,
        creation_time: 0,
      },
    )
    const renewed = await auth.call('POST', '/auth/token/renew-self', { token })
    assert.deepEqual(renewed.json.auth, { ...rest, client_token: token, metadata: {} })
    assert.equal((await lookup()).json.data.ttl, 100)
    const vault = await auth.call('GET', '/v1/auth/token/lookup-self', {
      headers: { 'x-vault-token': token },
    })
    assert.equal(vault.json.data.id, token)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { bearer: token })).json.data.id, token)
    for (const bearer of [`${token}.`, token.slice(3), 'wt.', `${token}x`])
      assert.equal((await auth.call('GET', '/auth/token/lookup-self', { bearer })).status, 403, bearer)
    assert.equal((await auth.call('POST', '/auth/token/revoke-self', { token })).status, 204)
    for (const [method, path] of [
      ['GET', '/auth/token/lookup-self'],
      ['POST', '/auth/token/renew-self'],
      ['POST', '/auth/token/revoke-self'],
    ] as const) {
      for (const call of [{ token }, {}, { token: '' }, { token: 'wt.x' }, { token: 'x'.repeat(5000) }]) {
        const answer = await auth.call(method, path, call)
        assert.equal(answer.status, 403)
        assert.deepEqual(answer.json.errors, [answer.json.description])
      }
    }
    assert.ok(!JSON.stringify(auth.events).includes(token))
    assert.ok(!JSON.stringify(auth.events).includes(secret_id))
  })

  it('have entities that start with the realm: no administrator can imitate a role of another realm', async () => {
    await using auth = await start()
    const { asSuper, realm } = scene(auth)
    await realm('r')
    const readEntity = async (place: string) => {
      const made = await asSuper('POST', `/auth/approle/role/worker${place}`, { bind_secret_id: false })
      assert.equal(made.status, 204)
      const { role_id } = (await asSuper('GET', '/auth/approle/role/worker/role-id')).json.data
      const login = await auth.call('POST', '/auth/approle/login', { json: { role_id } })
      const token = login.json.auth.client_token as string
      const { data } = (await auth.call('GET', '/auth/token/lookup-self', { token })).json
      assert.equal((await asSuper('DELETE', '/auth/approle/role/worker')).status, 204)
      return data.entity_id
    }
    assert.equal(await readEntity(''), 'worker')
    assert.equal(await readEntity('?realm=r'), 'r/approle:worker')
  })

  it('have tokens that expire and never become valid again (A21)', async () => {
    await using auth = await start()
    const worker = await role(auth, 'worker', { token_ttl: 100, bind_secret_id: false })
    const forever = await role(auth, 'forever', { token_ttl: 0, bind_secret_id: false })
    const issueToken = async (role_id: string): Promise<string> =>
      (await auth.call('POST', '/auth/approle/login', { json: { role_id } })).json.auth.client_token
    const [brief, lasting] = [await issueToken(worker.role_id), await issueToken(forever.role_id)]
    auth.clock.advance(100)
    assert.equal((await auth.call('POST', '/auth/token/renew-self', { token: brief })).status, 403)
    const uses = [
      ['GET', '/auth/token/lookup-self'],
      ['POST', '/auth/token/renew-self'],
      ['POST', '/auth/token/revoke-self'],
      ['GET', '/sessions/00000000-0000-4000-8000-000000000000'],
    ] as const
    // A token that was seen to have expired stays expired, also when the clock is set back.
    for (const jump of [-100, -86_400, 86_400]) {
      auth.clock.advance(jump)
      for (const [method, path] of uses.slice(0, 3)) {
        assert.equal((await auth.call(method, path, { token: brief })).status, 403, `${jump} ${path}`)
      }
      assert.equal((await auth.call('GET', uses[3][1], { token: brief })).status, 401)
    }
    const unseen = await issueToken(worker.role_id)
    auth.clock.advance(90 * 86_400)
    assert.equal(await removeExpiredTokens(auth.db.commit, auth.services.now()), 1)
    auth.clock.advance(-90 * 86_400)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token: unseen })).status, 403)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token: lasting })).status, 200)
    assert.equal(auth.counted.get('auth_tokens_total{event="swept"}'), 1)
  })

  it('use a single-use secret id once in a hundred concurrent logins (A20)', async () => {
    await using auth = await start()
    const worker = await role(auth, 'worker')
    const { secret_id } = await worker.secret({ num_uses: 1 })
    const json = { role_id: worker.role_id, secret_id }
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => auth.call('POST', '/auth/approle/login', { json })),
    )
    const statuses = answers.map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 1)
    assert.equal(statuses.filter((status) => status === 403).length, 99)
    const three = { role_id: worker.role_id, secret_id: (await worker.secret({ num_uses: 3 })).secret_id }
    const more = await Promise.all(
      Array.from({ length: 20 }, () => auth.call('POST', '/auth/approle/login', { json: three })),
    )
    assert.equal(more.filter(({ status }) => status === 200).length, 3)
    // An exhausted secret id has its own error for thirty days and over sweeps; then it is deleted.
    const again = async (): Promise<number> => {
      await removeExpiredSecretIds(auth.db.commit, auth.services.now())
      return (await auth.call('POST', '/auth/approle/login', { json })).status
    }
    auth.clock.advance(29 * 86_400)
    assert.equal(await again(), 403)
    auth.clock.advance(2 * 86_400)
    assert.equal(await again(), 400)
  })

  it('get the same error for wrong, foreign, expired and destroyed secret ids', async () => {
    await using auth = await start()
    const { asSuper } = scene(auth)
    const [one, two] = [await role(auth, 'one', { secret_id_ttl: 50 }), await role(auth, 'two')]
    const own = await one.secret()
    const foreign = await two.secret()
    await role(auth, 'one', { secret_id_ttl: 500 })
    const longer = await one.secret()
    const login = (role_id: unknown, secret_id?: unknown) =>
      auth.call('POST', '/auth/approle/login', { json: { role_id, secret_id } })
    const bad = [
      await login(one.role_id),
      await login(one.role_id, null),
      await login(one.role_id, 'x'),
      await login(one.role_id, foreign.secret_id),
      await login('00000000-0000-4000-8000-000000000000', own.secret_id),
    ]
    for (const answer of bad) {
      assert.equal(answer.status, 400)
      assert.deepEqual(answer.json.errors, ['The RoleID or the SecretID is invalid.'])
    }
    assert.equal((await login(7, 'x')).status, 400)
    assert.equal((await auth.call('POST', '/auth/approle/login')).status, 400)
    // An accessor of another role destroys no secret id.
    const destroy = (name: string, secret_id_accessor: string) =>
      asSuper('POST', `/auth/approle/role/${name}/secret-id/destroy`, { secret_id_accessor })
    assert.equal((await destroy('two', own.secret_id_accessor)).status, 204)
    assert.equal((await login(one.role_id, own.secret_id)).status, 200)
    auth.clock.advance(51)
    assert.equal((await login(one.role_id, own.secret_id)).status, 400)
    assert.equal((await login(one.role_id, longer.secret_id)).status, 200)
    await removeExpiredSecretIds(auth.db.commit, auth.services.now())
    assert.equal((await login(one.role_id, longer.secret_id)).status, 200)
    assert.equal((await destroy('one', longer.secret_id_accessor)).status, 204)
    assert.equal((await login(one.role_id, longer.secret_id)).status, 400)
    assert.equal((await destroy('none', longer.secret_id_accessor)).status, 404)
  })

  it('keep their role id, secret ids and tokens when the role is updated; lose all when it is deleted', async () => {
    await using auth = await start()
    const { asSuper, as, realm, user, admin, logIn } = scene(auth)
    const worker = await role(auth, 'worker', { token_ttl: 5, token_policies: ['p'] })
    const { secret_id } = await worker.secret()
    const json = { role_id: worker.role_id, secret_id }
    await role(auth, 'worker', { token_ttl: 3600 })
    const config = { token_ttl: 3600, secret_id_ttl: 0, token_policies: ['p'], bind_secret_id: true }
    assert.deepEqual((await asSuper('GET', '/auth/approle/role/worker')).json.data, config)
    const login = await auth.call('POST', '/auth/approle/login', { json })
    assert.equal(login.json.auth.lease_duration, 3600)
    const token = login.json.auth.client_token
    assert.deepEqual((await asSuper('GET', '/auth/approle/role?list=true')).json, {
      data: { keys: ['worker'] },
    })
    // A realm admin reads and changes only the roles of their realm.
    await realm('r')
    await user('r', 'chief')
    await admin('chief', ['r'], { userpass: 'chief' })
    const chief = await logIn('r', 'chief')
    assert.equal((await as(chief, 'POST', '/auth/approle/role/mine', {})).status, 204)
    assert.deepEqual((await as(chief, 'GET', '/auth/approle/role?list=true')).json.data.keys, ['mine'])
    for (const [method, path] of [
      ['POST', '/auth/approle/role/worker'],
      ['GET', '/auth/approle/role/worker'],
      ['GET', '/auth/approle/role/worker/role-id'],
      ['POST', '/auth/approle/role/worker/secret-id'],
      ['DELETE', '/auth/approle/role/worker'],
    ] as const) {
      assert.equal((await as(chief, method, path, {})).status, 403, path)
      assert.equal((await auth.call(method, path, { json: {} })).status, 401, path)
    }
    assert.equal((await asSuper('DELETE', '/auth/approle/role/worker')).status, 204)
    assert.equal((await asSuper('DELETE', '/auth/approle/role/worker')).status, 204)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token })).status, 403)
    assert.equal((await auth.call('POST', '/auth/approle/login', { json })).status, 400)
    for (const path of ['/role-id', '']) {
      assert.equal((await asSuper('GET', `/auth/approle/role/worker${path}`)).status, 404)
    }
    for (const bad of [
      { token_ttl: -1 },
      { secret_id_ttl: 'x' },
      { token_policies: 7 },
      { bind_secret_id: 'yes' },
    ]) {
      assert.equal((await asSuper('POST', '/auth/approle/role/worker', bad)).status, 400)
    }
    assert.equal((await asSuper('POST', '/auth/approle/role/a%2Fb', {})).status, 400)
    assert.equal((await asSuper('POST', '/auth/approle/role/mine/secret-id', { num_uses: -1 })).status, 400)
  })
})
