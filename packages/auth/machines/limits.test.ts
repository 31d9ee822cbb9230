import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { peerSecret, startAuth, type TestService } from '../testing/start.ts'
import { areSubset } from './limits.ts'

const role = '/v1/auth/approle/role/job'
const here = '127.0.0.1/32'
const elsewhere = '203.0.113.0/24'

/** Creates a role with these settings, and functions that call it. */
async function roleWith(auth: TestService, settings: Record<string, unknown>) {
  const { asSuper } = scene(auth)
  const save = (json: Record<string, unknown>) => asSuper('POST', role, json)
  const saved = await save(settings)
  assert.equal(saved.status, 204, saved.text)
  const { role_id } = (await asSuper('GET', `${role}/role-id`)).json.data
  const secretId = (json: Record<string, unknown> = {}) => asSuper('POST', `${role}/secret-id`, json)
  const logIn = (secret_id?: string, by = auth.call) =>
    by('POST', '/auth/approle/login', { json: { role_id, ...(secret_id !== undefined && { secret_id }) } })
  const look = (token: string, headers: Record<string, string> = {}) =>
    auth.call('GET', '/auth/token/lookup-self', { token, headers })
  const renew = (token: string) => auth.call('POST', '/v1/auth/token/renew-self', { token, json: {} })
  return { save, secretId, logIn, look, renew }
}

const start = () => startAuth({ adminPassword: 'correct horse' })
const refusal = ({ json }: { json: { errors: string[] } }) => json.errors[0] ?? ''

describe('limits of machines, as Vault documents them', () => {
  it('secret_id_num_uses is the default and the maximum of num_uses', async () => {
    await using auth = await start()
    const { secretId, logIn } = await roleWith(auth, { secret_id_num_uses: 2 })
    const { secret_id } = (await secretId()).json.data
    assert.equal((await logIn(secret_id)).status, 200)
    assert.equal((await logIn(secret_id)).status, 200)
    assert.equal((await logIn(secret_id)).status, 403)
    assert.equal((await secretId({ num_uses: 1 })).status, 200)
    for (const num_uses of [3, 0, '9']) {
      const answer = await secretId({ num_uses })
      assert.equal(answer.status, 400, String(num_uses))
      assert.match(refusal(answer), /^num_uses: cannot be higher than secret_id_num_uses/)
    }
  })

  it('secret_id_ttl is the default and the maximum of ttl', async () => {
    await using auth = await start()
    const { save, secretId } = await roleWith(auth, { secret_id_ttl: '1h' })
    const accessor = async (json: object) => {
      const made = await secretId({ ...json })
      assert.equal(made.status, 200, made.text)
      const { secret_id_accessor } = made.json.data
      const found = await scene(auth).asSuper('POST', `${role}/secret-id-accessor/lookup`, {
        secret_id_accessor,
      })
      return found.json.data.expiration_time - auth.services.now()
    }
    for (const [json, seconds] of [
      [{}, 3600],
      [{ ttl: 0 }, 3600],
      [{ ttl: 3600 }, 3600],
      [{ ttl: '1m' }, 60],
    ] as const)
      assert.equal(await accessor(json), seconds, JSON.stringify(json))
    for (const ttl of [3601, '61m', '1d']) {
      const refused = await secretId({ ttl })
      assert.equal(refused.status, 400, String(ttl))
      assert.match(refusal(refused), /^ttl: cannot be longer than secret_id_ttl of the role/)
    }
    assert.equal((await save({ secret_id_ttl: 0 })).status, 204)
    assert.equal(await accessor({ ttl: '1d' }), 86_400)
  })

  it('an update of a role changes only the members that it contains', async () => {
    await using auth = await start()
    const settings = {
      token_ttl: 50,
      secret_id_ttl: 70,
      token_policies: ['p'],
      bind_secret_id: false,
      secret_id_num_uses: 3,
      secret_id_bound_cidrs: [here],
      token_bound_cidrs: [here],
      token_num_uses: 9,
      token_max_ttl: 100,
      token_explicit_max_ttl: 200,
    }
    const { save } = await roleWith(auth, settings)
    const { asSuper } = scene(auth)
    const read = async () => (await asSuper('GET', role)).json.data
    assert.equal((await save({})).status, 204)
    assert.deepEqual(await read(), settings)
    let expected: Record<string, unknown> = settings
    for (const change of [
      { token_policies: ['p', 'q'] },
      { token_ttl: 60 },
      { token_num_uses: 2 },
      { secret_id_bound_cidrs: [here, elsewhere] },
      { secret_id_ttl: 0 },
      { bind_secret_id: true },
    ]) {
      assert.equal((await save(change)).status, 204)
      expected = { ...expected, ...change }
      assert.deepEqual(await read(), expected, JSON.stringify(change))
    }
    const tooLong = await save({ token_ttl: 101 })
    assert.match(refusal(tooLong), /^token_ttl: cannot be greater than token_max_ttl/)
    // Members without effect are omitted.
    const removed = {
      token_num_uses: 0,
      secret_id_num_uses: 0,
      token_bound_cidrs: [],
      secret_id_bound_cidrs: '',
    }
    assert.equal((await save({ ...removed, token_max_ttl: 0, token_explicit_max_ttl: 0 })).status, 204)
    assert.deepEqual(await read(), {
      token_ttl: 60,
      secret_id_ttl: 0,
      token_policies: ['p', 'q'],
      bind_secret_id: true,
    })
  })

  it('concurrent updates of a role keep the changes of each other', async () => {
    await using auth = await start()
    const { save } = await roleWith(auth, {})
    const { asSuper } = scene(auth)
    const changes = [{ token_ttl: 7 }, { token_num_uses: 2 }, { secret_id_ttl: 8 }, { token_policies: ['p'] }]
    const answers = await Promise.all(changes.map((change) => save(change)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [204, 204, 204, 204],
    )
    const { bind_secret_id: _, ...found } = (await asSuper('GET', role)).json.data
    assert.deepEqual(found, Object.assign({}, ...changes))
    const [first, second] = await Promise.all([
      asSuper('POST', '/v1/auth/approle/role/new', { token_ttl: 7 }),
      asSuper('POST', '/v1/auth/approle/role/new', { token_num_uses: 2 }),
    ])
    assert.deepEqual([first.status, second.status], [204, 204])
    const { token_ttl, token_num_uses } = (await asSuper('GET', '/v1/auth/approle/role/new')).json.data
    assert.deepEqual([token_ttl, token_num_uses], [7, 2])
  })

  it('secret_id_bound_cidrs and cidr_list restrict the addresses of logins; a refused login does not count as a use', async () => {
    await using auth = await start()
    const { save, secretId, logIn } = await roleWith(auth, { secret_id_bound_cidrs: ['127.0.0.0/31', here] })
    const once = (await secretId({ num_uses: 1 })).json.data.secret_id
    const other = auth.clientWith({ localAddress: '127.0.0.2' })
    const refused = await logIn(once, other.call)
    assert.equal(refused.status, 403, refused.text)
    assert.match(refusal(refused), /not permitted from this address/)
    assert.equal((await logIn(once)).status, 200, 'its use is still there')

    const narrow = await secretId({ cidr_list: '127.0.0.0/32' })
    assert.equal((await logIn(narrow.json.data.secret_id)).status, 403)
    const outside = await secretId({ cidr_list: ['127.0.0.0/8'] })
    assert.equal(outside.status, 400)
    assert.match(refusal(outside), /^cidr_list: must be within the address blocks of the role/)
    // The addresses of the role apply also without a secret id.
    assert.equal((await save({ secret_id_bound_cidrs: elsewhere, bind_secret_id: false })).status, 204)
    assert.equal((await logIn()).status, 403)
    // A secret id from before the role was restricted has no more addresses than the role.
    const wide = (await secretId({ cidr_list: '203.0.113.0/25' })).json.data.secret_id
    assert.equal((await save({ secret_id_bound_cidrs: here, bind_secret_id: true })).status, 204)
    assert.match(refusal(await logIn(wide)), /not within those of its role/)
  })

  it('token_bound_cidrs apply to the client address at the login and at each use', async () => {
    await using auth = await start()
    const { save, secretId, logIn, look } = await roleWith(auth, { token_bound_cidrs: [here, elsewhere] })
    const { secret_id } = (await secretId()).json.data
    const token = (await logIn(secret_id)).json.auth.client_token
    const other = auth.clientWith({ localAddress: '127.0.0.2' })
    assert.equal((await logIn(secret_id, other.call)).status, 403)
    const { data } = (await look(token)).json
    assert.deepEqual(data.bound_cidrs, [here, elsewhere])
    assert.equal((await other.call('GET', '/auth/token/lookup-self', { token })).status, 403)
    // A forwarded client address counts only when a service of the installation sends it.
    const forwarded = (address: string, secret?: string) =>
      look(token, {
        'x-forwarded-for': address,
        ...(secret !== undefined && { 'x-warder-peer': secret }),
      })
    assert.equal((await forwarded('203.0.113.9', peerSecret)).status, 200)
    assert.equal((await forwarded('198.51.100.1', peerSecret)).status, 403)
    assert.equal((await forwarded('127.0.0.1')).status, 403)

    const own = await secretId({ token_bound_cidrs: elsewhere })
    assert.equal((await logIn(own.json.data.secret_id)).status, 403)
    assert.equal((await secretId({ token_bound_cidrs: '127.0.0.0/8' })).status, 400)
    assert.equal((await save({ token_bound_cidrs: elsewhere })).status, 204)
    assert.equal((await look(token)).status, 200, 'a token keeps what it was issued with')
    assert.equal((await logIn(secret_id)).status, 403)
  })

  it('a forwarded login is refused where the role is bound to addresses and the client address is unknown', async () => {
    await using auth = await start()
    const { save, secretId, logIn } = await roleWith(auth, {})
    const { secret_id } = (await secretId({ num_uses: 4 })).json.data
    const by = (headers: Record<string, string>) =>
      logIn(secret_id, (method, path, ask) => auth.call(method, path, { ...ask, headers }))
    const peer = { 'x-warder-peer': peerSecret }
    // Requests of a kms without the secret, with it, and with it behind a proxy that is not trusted.
    const unproven = { 'x-forwarded-for': '127.0.0.1' }
    assert.equal((await by(unproven)).status, 200, 'a role without bounds needs no address')
    for (const bounds of [
      { secret_id_bound_cidrs: here },
      { secret_id_bound_cidrs: '', token_bound_cidrs: here },
    ]) {
      assert.equal((await save(bounds)).status, 204)
      for (const headers of [
        unproven,
        { ...unproven, 'x-warder-peer': 'forged' },
        { forwarded: 'for=127.0.0.1' },
        { ...unproven, ...peer, forwarded: 'for=unknown' },
        { 'x-forwarded-for': 'unknown', ...peer },
      ]) {
        const refused = await by(headers)
        assert.equal(refused.status, 403, refused.text)
        assert.match(refusal(refused), /does not share WARDER_PEER_SECRET/)
      }
      assert.equal((await by({ ...unproven, ...peer })).status, 200, 'the use is still there')
    }
    assert.equal(auth.events.findLast(({ outcome }) => outcome === 'failure')?.reason, 'address_not_known')
    const own = (await secretId({ cidr_list: here })).json.data.secret_id
    assert.equal((await save({ token_bound_cidrs: '' })).status, 204)
    const refused = await logIn(own, (method, path, ask) =>
      auth.call(method, path, { ...ask, headers: unproven }),
    )
    assert.match(refusal(refused), /WARDER_PEER_SECRET/)
  })

  it('token_num_uses counts every request, also concurrent ones', async () => {
    await using auth = await start()
    const { logIn, look, renew } = await roleWith(auth, { token_num_uses: 5, bind_secret_id: false })
    const issue = async () => (await logIn()).json.auth.client_token
    const token = await issue()
    const answers = await Promise.all(Array.from({ length: 20 }, () => look(token)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 5)
    assert.equal((await look(token)).status, 403)
    assert.equal((await renew(token)).status, 403)
    const second = await issue()
    const left: number[] = []
    for (let use = 0; use < 5; use++) left.push((await look(second)).json.data.num_uses)
    assert.deepEqual(left, [4, 3, 2, 1, -1])
    assert.equal((await look(second)).status, 403)
    const third = await issue()
    // An administrative request with a token is a use, too.
    for (let use = 0; use < 4; use++)
      assert.equal((await auth.call('GET', '/auth/approle/role?list=true', { token: third })).status, 403)
    assert.equal((await renew(third)).status, 403, 'the last use renews nothing')
    assert.equal((await look(third)).status, 403)
  })

  it('token_max_ttl and token_explicit_max_ttl limit the lifetime of a token, renewed or not', async () => {
    await using auth = await start()
    const { save, logIn, look, renew } = await roleWith(auth, {
      token_ttl: 100,
      token_max_ttl: 250,
      bind_secret_id: false,
    })
    const issued = (await logIn()).json.auth
    assert.equal(issued.lease_duration, 100)
    const token = issued.client_token
    auth.clock.advance(90)
    assert.equal((await renew(token)).json.auth.lease_duration, 100)
    auth.clock.advance(90)
    assert.equal((await renew(token)).json.auth.lease_duration, 70)
    assert.equal((await look(token)).json.data.ttl, 70)
    // The value of the role at the time of the renewal applies.
    assert.equal((await save({ token_ttl: 100, token_max_ttl: 1000, bind_secret_id: false })).status, 204)
    assert.equal((await renew(token)).json.auth.lease_duration, 100)
    assert.equal((await save({ token_ttl: 10, token_max_ttl: 20, bind_secret_id: false })).status, 204)
    assert.equal((await renew(token)).status, 403)

    const explicit = { token_ttl: 100, token_max_ttl: 0, token_explicit_max_ttl: 150 }
    assert.equal((await save(explicit)).status, 204)
    const other = (await logIn()).json.auth.client_token
    assert.equal((await save({ token_explicit_max_ttl: 0 })).status, 204)
    auth.clock.advance(90)
    assert.equal((await renew(other)).json.auth.lease_duration, 60, 'as the role said when it was issued')
    auth.clock.advance(60)
    assert.equal((await look(other)).status, 403)
    // A token without a TTL gets an expiry from a limit.
    assert.equal((await save({ token_explicit_max_ttl: '40s', bind_secret_id: false })).status, 204)
    assert.equal((await logIn()).json.auth.lease_duration, 40)
  })

  it('are returned where they are set', async () => {
    await using auth = await start()
    const set = {
      secret_id_num_uses: 2,
      secret_id_bound_cidrs: [here],
      token_bound_cidrs: [here],
      token_num_uses: 3,
      token_max_ttl: 7200,
      token_explicit_max_ttl: 9000,
    }
    const { secretId } = await roleWith(auth, set)
    const { asSuper } = scene(auth)
    const { data } = (await asSuper('GET', role)).json
    for (const [name, value] of Object.entries(set)) assert.deepEqual(data[name], value, name)
    const made = await secretId({ cidr_list: here, token_bound_cidrs: here })
    const { secret_id_accessor } = made.json.data
    const found = await asSuper('POST', `${role}/secret-id-accessor/lookup`, { secret_id_accessor })
    assert.deepEqual([found.json.data.cidr_list, found.json.data.token_bound_cidrs], [[here], [here]])
  })

  it('are refused by name where they are not supported, and neutral values are accepted', async () => {
    await using auth = await start()
    const { save, secretId } = await roleWith(auth, {
      token_type: 'default',
      token_period: 0,
      token_no_default_policy: true,
      local_secret_ids: false,
    })
    const refused: readonly (readonly [RegExp, Record<string, unknown>])[] = [
      [/^token_type: must be default or service/, { token_type: 'batch' }],
      [/^token_period: periodic tokens are not supported/, { token_period: '1h' }],
      [/^token_period: periodic tokens are not supported/, { period: 60 }],
      [/^local_secret_ids: /, { local_secret_ids: true }],
      [/^token_bound_cidrs: must be address blocks/, { token_bound_cidrs: ['10.0.0.0/33'] }],
      [/^secret_id_bound_cidrs: must be address blocks/, { secret_id_bound_cidrs: 'here' }],
      [/^token_ttl: cannot be greater than token_max_ttl/, { token_ttl: 100, token_max_ttl: 50 }],
      [/^token_ttl: cannot be greater than token_max_ttl/, { token_ttl: 0, token_max_ttl: 50 }],
      [/token_max_tll: is not a known member; did you mean token_max_ttl/, { token_max_tll: 50 }],
      [/role_id: is not a known member/, { role_id: 'mine' }],
    ]
    for (const [sentence, body] of refused) {
      const answer = await save(body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match(refusal(answer), sentence)
    }
    for (const [sentence, body] of [
      [/^metadata: is not supported/, { metadata: '{"a":"b"}' }],
      [/cidr_lst: is not a known member; did you mean cidr_list/, { cidr_lst: [] }],
    ] as const) {
      const answer = await secretId(body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match(refusal(answer), sentence)
    }
    assert.equal((await secretId({ metadata: '{}', cidr_list: [], token_bound_cidrs: '' })).status, 200)
  })

  it('of IPv4 and IPv6 are compared as blocks', () => {
    assert.equal(areSubset(['10.1.0.0/16', '10.2.3.4'], ['10.0.0.0/8']), true)
    assert.equal(areSubset(['10.0.0.0/7'], ['10.0.0.0/8']), false)
    assert.equal(areSubset(['::ffff:10.1.0.0/112'], ['10.0.0.0/8']), true)
    assert.equal(areSubset(['2001:db8::/32'], ['10.0.0.0/8', '2001:db8::/31']), true)
    assert.equal(areSubset(['2001:db8::/32'], ['0.0.0.0/0']), false)
    assert.equal(areSubset([], ['10.0.0.0/8']), true)
  })
})
