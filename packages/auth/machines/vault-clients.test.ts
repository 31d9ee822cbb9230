import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { startAuth } from '../testing/start.ts'

const role = '/v1/auth/approle/role'

describe('requests of Vault clients', () => {
  it('may contain durations, policies, counts and flags as text', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    const save = (json: object) => asSuper('POST', `${role}/job`, json)
    const saved = await save({
      token_ttl: '1h30m',
      secret_id_ttl: '2d',
      token_policies: 'a, b,',
      bind_secret_id: 'true',
    })
    assert.equal(saved.status, 204, saved.text)
    assert.deepEqual((await asSuper('GET', `${role}/job`)).json.data, {
      token_ttl: 5400,
      secret_id_ttl: 172_800,
      token_policies: ['a', 'b'],
      bind_secret_id: true,
    })
    assert.equal((await save({ token_ttl: '60', policies: ['old'], bind_secret_id: 'false' })).status, 204)
    assert.deepEqual((await asSuper('GET', `${role}/job`)).json.data, {
      token_ttl: 60,
      secret_id_ttl: 172_800,
      token_policies: ['old'],
      bind_secret_id: false,
    })
    for (const bad of ['', 'h', '1', '-1h', '1.5h', '1h ', '1 h', '1y', '99999999999', '9999999999d'].filter(
      (text) => text !== '1',
    ))
      assert.equal((await save({ token_ttl: bad })).status, 400, bad)
    assert.equal((await save({ token_policies: 'a\u202e' })).status, 400)
    assert.equal((await save({ bind_secret_id: 'no' })).status, 400)
    const made = await asSuper('POST', `${role}/job/secret-id`, { ttl: '10m', num_uses: '3' })
    const accessor = { secret_id_accessor: made.json.data.secret_id_accessor }
    const known = await asSuper('POST', `${role}/job/secret-id-accessor/lookup`, accessor)
    assert.deepEqual(known.json.data, {
      ...accessor,
      secret_id_num_uses: 3,
      expiration_time: auth.services.now() + 600,
    })
    const pods = {
      jwks_url: 'https://pods.example/keys',
      bound_service_account_names: 'a,b',
      token_ttl: '5m',
    }
    assert.equal((await asSuper('POST', '/v1/auth/kubernetes/role/pods', pods)).status, 204)
    const { data } = (await asSuper('GET', '/v1/auth/kubernetes/role/pods')).json
    assert.deepEqual([data.bound_service_account_names, data.token_ttl], [['a', 'b'], 300])
  })

  it('look up, list and destroy secret ids of their own role only', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    for (const name of ['one', 'two'])
      assert.equal((await asSuper('POST', `${role}/${name}`, {})).status, 204)
    const make = async () => (await asSuper('POST', `${role}/one/secret-id`, {})).json.data
    const [first, second] = [await make(), await make()]
    const keys = async (name: string) =>
      (await asSuper('GET', `${role}/${name}/secret-id?list=true`)).json.data.keys
    assert.deepEqual(await keys('one'), [first, second].map((one) => one.secret_id_accessor).sort())
    assert.deepEqual(await keys('two'), [])
    const byAccessor = { secret_id_accessor: first.secret_id_accessor }
    const byValue = { secret_id: second.secret_id }
    for (const [path, body] of [
      ['secret-id-accessor/lookup', byAccessor],
      ['secret-id/lookup', byValue],
    ] as const) {
      const known = await asSuper('POST', `${role}/one/${path}`, body)
      assert.equal(known.json.data.secret_id_num_uses, 0)
      assert.ok(!known.text.includes(second.secret_id))
      assert.equal((await asSuper('POST', `${role}/two/${path}`, body)).status, 404)
    }
    for (const [path, body, left] of [
      ['secret-id-accessor/destroy', byAccessor, 1],
      ['secret-id/destroy', byValue, 0],
    ] as const) {
      assert.equal((await asSuper('POST', `${role}/two/${path}`, body)).status, 204)
      assert.equal((await keys('one')).length, left + 1, 'the other role destroys nothing')
      assert.equal((await asSuper('POST', `${role}/one/${path}`, body)).status, 204)
      assert.equal((await asSuper('POST', `${role}/one/${path}`, body)).status, 204)
      assert.equal((await keys('one')).length, left)
    }
    assert.equal((await asSuper('POST', `${role}/one/secret-id/destroy`, {})).status, 400)
  })

  it('administer roles with a token of the policy machine-roles-admin, without gaining rights', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user, admin, logIn, as } = scene(auth)
    await realm('r')
    await realm('s')
    const tokenOf = async (name: string, policies: string, query = ''): Promise<string> => {
      const fields = { token_policies: policies, bind_secret_id: false }
      assert.equal((await asSuper('POST', `${role}/${name}${query}`, fields)).status, 204)
      const { role_id } = (await asSuper('GET', `${role}/${name}/role-id`)).json.data
      return (await auth.call('POST', '/v1/auth/approle/login', { json: { role_id } })).json.auth.client_token
    }
    const root = await tokenOf('ops', 'machine-roles-admin')
    const local = await tokenOf('ops-of-r', 'machine-roles-admin', '?realm=r')
    const plain = await tokenOf('plain', 'sales')
    const call = (token: string, method: string, path: string, json?: unknown) =>
      auth.call(method, path, { json, headers: { 'x-vault-token': token } })
    const statusOf = async (...given: Parameters<typeof call>) => (await call(...given)).status

    assert.equal(await statusOf(local, 'POST', `${role}/job`, { token_policies: 'sales' }), 204)
    assert.equal((await call(local, 'GET', `${role}/job/role-id`)).status, 200)
    assert.equal(await statusOf(local, 'POST', `${role}/job/secret-id`, {}), 200)
    assert.deepEqual((await call(local, 'GET', `${role}?list=true`)).json.data.keys, ['job', 'ops-of-r'])
    assert.equal(await statusOf(root, 'POST', `${role}/job2?realm=s`, {}), 204)
    assert.equal(await statusOf(root, 'DELETE', `${role}/job2`), 204)
    assert.equal(await statusOf(root, 'POST', `${role}/job3`, {}), 204)
    assert.equal(auth.events.at(-1)?.principal, 'ops')

    assert.equal(await statusOf(local, 'POST', `${role}/job4?realm=s`, {}), 403)
    assert.equal(await statusOf(local, 'DELETE', `${role}/job3`), 403)
    for (const policy of ['sessions', 'sessions-admin', 'machine-roles-admin'])
      assert.equal(await statusOf(root, 'POST', `${role}/more`, { token_policies: policy }), 403, policy)
    for (const name of ['ops', 'ops-of-r']) {
      assert.equal(await statusOf(root, 'POST', `${role}/${name}/secret-id`, {}), 403)
      assert.equal(await statusOf(root, 'GET', `${role}/${name}/role-id`), 403)
      assert.equal(await statusOf(root, 'POST', `${role}/${name}`, {}), 403)
    }
    for (const path of ['/admins', '/admins/realms', '/realms/r/userpass', '/admins/userpass'])
      assert.ok([401, 403].includes(await statusOf(root, 'GET', path)), path)
    assert.equal(await statusOf(plain, 'GET', `${role}?list=true`), 403)
    assert.equal(await statusOf('wt.forged', 'GET', `${role}?list=true`), 401)

    await user('r', 'chief')
    await admin('chief of r', ['r'], { userpass: 'chief' })
    const chief = await logIn('r', 'chief')
    const grant = { token_policies: 'machine-roles-admin' }
    assert.equal(
      (await as(chief, 'POST', `${role}/own`, grant)).status,
      403,
      'only a super administrator assigns it',
    )
  })
})
