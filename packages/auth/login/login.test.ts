import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { readCookie, startAuth } from '../testing/start.ts'

const wrong = {
  error: 'unauthorized',
  description: 'The credentials are missing or not valid.',
}

describe('login', () => {
  it('gives the same answer whether the realm, name, password or header is wrong (A02, A30)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user } = scene(auth)
    await realm('r')
    await realm('closed', { auth_params: {} })
    await user('r', 'ann')
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    const calls: [string, Record<string, string>][] = [
      ['r', { authorization: `Basic ${base64('ann:wrong')}` }],
      ['r', { authorization: `Basic ${base64('nobody:wrong')}` }],
      ['nowhere', { authorization: `Basic ${base64('ann:correct horse')}` }],
      ['closed', { authorization: `Basic ${base64('ann:correct horse')}` }],
      ['r', { authorization: `Basic ${base64('Ann:correct horse')}` }],
      ['r', { authorization: `Basic ${base64('ann:')}` }],
      ['r', {}],
      ['r', { authorization: '' }],
      ['r', { authorization: 'Basic' }],
      ['r', { authorization: 'Basic !!!' }],
      ['r', { authorization: `Basic ${base64('no colon')}` }],
      ['r', { authorization: `Basic ${base64(':correct horse')}` }],
      ['r', { authorization: `Basic ${base64('ann:correct horse')} x` }],
      ['r', { authorization: `Basic ${base64('ann:correct horse').slice(0, -2)}` }],
      ['r', { authorization: `Basic ${Buffer.from('ann:\xff\xfe', 'latin1').toString('base64')}` }],
      ['r', { authorization: `Digest ${base64('ann:correct horse')}` }],
      ['r', { authorization: 'Bearer not-a-token' }],
      ['r', { authorization: 'Bearer a.b.c' }],
    ]
    for (const [name, headers] of calls) {
      const answer = await auth.call('POST', `/login?realm=${name}`, { headers })
      assert.equal(answer.status, 401, JSON.stringify(headers))
      assert.deepEqual(answer.json, wrong)
      assert.equal(answer.headers['www-authenticate'], 'Basic realm="login", charset="UTF-8"')
      assert.equal(answer.headers['set-cookie'], undefined)
    }
    const own = `https://127.0.0.1:${auth.port}`
    const fromPage = { authorization: `Basic ${base64('ann:wrong')}`, origin: own }
    const told = await auth.call('POST', '/login?realm=r', { headers: fromPage })
    // A browser would show its own dialog for `Basic`.
    assert.deepEqual([told.status, told.headers['www-authenticate']], [401, 'Bearer'])
    const reasons = auth.events.flatMap(({ reason }) => reason ?? [])
    for (const reason of ['wrong_password', 'unknown_user', 'unknown_realm', 'method_not_enabled']) {
      assert.ok(reasons.includes(reason), reason)
    }
    for (const query of ['', '?realm=', '?realm=..', '?realm=%20_', '?realm=r&realm=r']) {
      assert.equal((await auth.call('POST', `/login${query}`, { basic: 'ann:x' })).status, 400, query)
    }
    const cookie = await auth.logIn('%72', 'ann:correct horse')
    assert.equal((await auth.call('GET', '/whoami?realm=r', { cookie })).status, 200)
  })

  it('requires a password change where the realm says so, which users do themselves', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper, as } = scene(auth)
    await realm('strict')
    await user('strict', 'ann', { change_password: true })
    const basic = 'ann:correct horse'
    const login = await auth.call('POST', '/login?realm=strict', { basic })
    assert.deepEqual(login.json, { next_step: 'ChangePassword', session_id: null })
    assert.equal(login.headers['set-cookie'], undefined)
    const change = (new_password: unknown, by = basic) =>
      auth.call('POST', '/password?realm=strict', { basic: by, json: { new_password } })
    for (const bad of ['short', 'Password123', 'x'.repeat(1025), 'correct horse', 7]) {
      assert.equal((await change(bad)).status, 400, String(bad))
    }
    assert.equal((await change('a longer secret', 'ann:wrong')).status, 401)
    assert.equal((await change('a longer secret', 'bob:wrong')).status, 401)
    assert.equal(
      (await auth.call('POST', '/password?realm=strict', { json: { new_password: 'a longer secret' } }))
        .status,
      401,
    )
    assert.equal((await change('a longer secret')).status, 204)
    const cookie = await auth.logIn('strict', 'ann:a longer secret')
    assert.equal((await change('an even longer one', 'ann:a longer secret')).status, 204)
    assert.equal((await as(cookie, 'GET', '/whoami')).status, 401, 'sessions of the old password end')
    // Where expired passwords are allowed, the flag does not prevent a login.
    await asSuper('PUT', '/realms/_/userpass/admin', { change_password: true })
    assert.equal((await auth.call('POST', '/login?realm=_', { basic: 'admin:correct horse' })).status, 200)
  })

  it('throttles a name after five failures, in all spellings (A01)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const attempt = (basic: string) => auth.call('POST', '/login?realm=r', { basic })
    for (const name of ['ann', 'ANN', ' ann ', 'Ann', 'ａｎｎ']) {
      assert.equal((await attempt(`${name}:wrong`)).status, 401)
    }
    const blocked = await attempt('ann:correct horse')
    assert.equal(blocked.status, 429)
    assert.ok(Number(blocked.headers['retry-after']) >= 1)
    assert.equal((await attempt('aNN:wrong')).status, 429)
    assert.equal((await attempt('bob:wrong')).status, 401, 'others are not concerned')
    auth.clock.advance(2)
    assert.equal((await attempt('ann:correct horse')).status, 200)
    assert.equal((await attempt('ann:wrong')).status, 401, 'a success begins the count again')
    assert.equal((await attempt('ann:correct horse')).status, 200)
  })

  it('tests five of many concurrent guesses (A07), and accepts concurrent correct logins', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    await user('r', 'bob')
    const many = (basic: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => auth.call('POST', '/login?realm=r', { basic })))
    const guesses = await many('ann:wrong', 60)
    const heard = guesses.filter(({ status }) => status === 401).length
    assert.ok(heard >= 5 && heard <= 10, `${heard} were heard`)
    assert.equal(guesses.length - heard, guesses.filter(({ status }) => status === 429).length)
    const right = await many('bob:correct horse', 12)
    assert.deepEqual(
      right.map(({ status }) => status),
      Array(12).fill(200),
    )
    assert.equal(new Set(right.map(({ json }) => json.session_id)).size, 12)
  })

  it('is limited by address', async () => {
    await using auth = await startAuth({
      adminPassword: 'correct horse',
      config: { login_rate_limit_per_second: 1, login_rate_limit_burst: 3 },
    })
    const statuses = []
    for (let index = 0; index < 5; index++) {
      const headers = { 'x-forwarded-for': `10.0.0.${index}` }
      statuses.push((await auth.call('POST', '/login?realm=_', { headers })).status)
    }
    assert.deepEqual(statuses, [401, 401, 401, 429, 429])
    assert.equal((await auth.call('POST', '/auth/approle/login', { json: { role_id: 'x' } })).status, 429)
    assert.equal((await auth.call('GET', '/public/version')).status, 200)
  })

  it('creates a new session whatever cookie the request carries (A23)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const before = await auth.superCookie()
    const answer = await auth.call('POST', '/login?realm=_', { basic: 'admin:correct horse', cookie: before })
    assert.notEqual(readCookie(answer), before)
    const twice = { headers: { cookie: `_ea_=${before}; _ea_=${readCookie(answer)}` } }
    assert.equal((await auth.call('GET', '/whoami', twice)).status, 401)
    const other = { headers: { cookie: `x=1; _ea_="${before}"; y=2` } }
    assert.equal((await auth.call('GET', '/whoami', other)).status, 200)
  })

  it('creates no session when the password was changed during its verification', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const { hasher } = auth.services
    const { verify } = hasher
    Object.assign(hasher, {
      async verify(...given: Parameters<typeof verify>): Promise<boolean> {
        Object.assign(hasher, { verify })
        const right = await verify(...given)
        const changed = { password_input: { plaintext: 'another one' } }
        assert.equal((await asSuper('PUT', '/realms/r/userpass/ann', changed)).status, 200)
        return right
      },
    })
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 401)
    assert.equal(auth.events.at(-1)?.reason, 'credential_changed')
    const sessions = await asSuper('POST', '/sessions/realms/r/clients', [
      { username: 'ann', auth_scheme: 'up' },
    ])
    assert.deepEqual(sessions.json.session_ids, [])
  })

  it('accepts one of several concurrent changes of a password, and only the new password works', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const wanted = Array.from({ length: 5 }, (_, index) => `another horse ${index}`)
    const answers = await Promise.all(
      wanted.map((new_password) =>
        auth.call('POST', '/password?realm=r', { basic: 'ann:correct horse', json: { new_password } }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 401, 401, 401, 401])
    const winner = wanted[answers.findIndex(({ status }) => status === 204)] ?? ''
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: `ann:${winner}` })).status, 200)
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 401)
  })
})
