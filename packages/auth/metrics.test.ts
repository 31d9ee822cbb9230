import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMetrics } from '@warder/runtime'
import { authService } from './service.ts'
import { scene } from './testing/scene.ts'
import { startAuth } from './testing/start.ts'

describe('metrics', () => {
  it('count logins by outcome, sessions and machine tokens', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper, logIn } = scene(auth)
    await realm('secretive', { session_max_stale_age_seconds: 10 })
    await user('secretive', 'ann')
    await user('secretive', 'old', { change_password: true })
    await logIn('secretive', 'ann')
    const login = (call: object) => auth.call('POST', '/login?realm=secretive', call)
    await login({ basic: 'old:correct horse' })
    await login({ basic: 'ann:wrong' })
    await login({ basic: 'nobody:wrong' })
    await login({ bearer: 'a.b.c' })
    await login({ headers: { authorization: 'Mystery x' } })
    await login({})
    for (let count = 0; count < 6; count++) await login({ basic: 'bob:wrong' })
    await asSuper('POST', '/auth/approle/role/worker', { bind_secret_id: false, token_ttl: 100 })
    const { role_id } = (await asSuper('GET', '/auth/approle/role/worker/role-id')).json.data
    const machine = (json: unknown) => auth.call('POST', '/auth/approle/login', { json })
    const [first, second] = [await machine({ role_id }), await machine({ role_id })].map(
      ({ json }) => json.auth.client_token as string,
    )
    await machine({ role_id: 'wrong' })
    await auth.call('POST', '/auth/orchestrator/login', { json: { role: 'none', jwt: 'a.b.c' } })
    await auth.call('POST', '/auth/token/renew-self', { token: first ?? '' })
    await auth.call('POST', '/auth/token/revoke-self', { token: second ?? '' })
    await logIn('secretive', 'ann')
    await asSuper('DELETE', '/sessions/realms/secretive')
    await logIn('secretive', 'ann')
    auth.clock.advance(200)
    for (const { run } of authService.periodic) await run(auth.environment)
    const expected = {
      'auth_logins_total{method="basic",outcome="authenticated"}': 4,
      'auth_logins_total{method="basic",outcome="change_password"}': 1,
      'auth_logins_total{method="basic",outcome="refused"}': 7,
      'auth_logins_total{method="basic",outcome="throttled"}': 1,
      'auth_logins_total{method="bearer",outcome="refused"}': 1,
      'auth_logins_total{method="malformed",outcome="refused"}': 1,
      'auth_logins_total{method="certificate",outcome="refused"}': 1,
      'auth_logins_total{method="approle",outcome="authenticated"}': 2,
      'auth_logins_total{method="approle",outcome="refused"}': 1,
      'auth_logins_total{method="orchestrator",outcome="refused"}': 1,
      'auth_sessions_total{event="begun"}': 4,
      'auth_sessions_total{event="logged_out"}': 2,
      'auth_sessions_total{event="swept"}': 1,
      'auth_tokens_total{event="issued"}': 2,
      'auth_tokens_total{event="renewed"}': 1,
      'auth_tokens_total{event="revoked"}': 1,
      'auth_tokens_total{event="swept"}': 1,
    }
    const counted = Object.fromEntries([...auth.counted].filter(([name]) => name.startsWith('auth_')))
    assert.deepEqual(counted, expected)
    for (const key of auth.counted.keys()) {
      for (const word of ['secretive', 'ann', 'bob', 'nobody', 'worker', '127.0.0.1', '_"', 'unknown_user']) {
        assert.ok(!key.includes(word), `${word} in ${key}`)
      }
    }
  })

  it('count revocations by password, credential, role or realm, once each', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper, logIn } = scene(auth)
    const ended = (kind: 'sessions' | 'tokens') =>
      auth.counted.get(`auth_${kind}_total{event="revoked"}`) ?? 0
    const twice = async (name: string, username: string): Promise<void> => {
      for (let count = 0; count < 2; count++) await logIn(name, username)
    }
    const machines = async (name: string, at: string): Promise<void> => {
      await asSuper('POST', `/auth/approle/role/${name}?realm=${at}`, { bind_secret_id: false })
      const { role_id } = (await asSuper('GET', `/auth/approle/role/${name}/role-id`)).json.data
      for (let count = 0; count < 3; count++) {
        assert.equal((await auth.call('POST', '/auth/approle/login', { json: { role_id } })).status, 200)
      }
    }
    await realm('r')
    await realm('s')
    for (const name of ['ann', 'bob', 'eve']) await user('r', name)
    await user('s', 'ann')
    for (const name of ['ann', 'bob', 'eve']) await twice('r', name)
    await twice('s', 'ann')
    const basic = 'ann:correct horse'
    await auth.call('POST', '/password?realm=r', { basic, json: { new_password: 'another horse' } })
    assert.equal(ended('sessions'), 2, 'a password of one’s own')
    await asSuper('PUT', '/realms/r/userpass/bob', { password_input: { plaintext: 'another horse' } })
    assert.equal(ended('sessions'), 4, 'a password of another user')
    await asSuper('PUT', '/realms/r/userpass/eve', { roles: ['x'] })
    assert.equal(ended('sessions'), 4, 'no new password')
    for (let count = 0; count < 2; count++) await asSuper('DELETE', '/realms/r/userpass/eve')
    assert.equal(ended('sessions'), 6)
    await machines('one', 'r')
    await machines('two', 's')
    for (let count = 0; count < 2; count++) await asSuper('DELETE', '/auth/approle/role/one')
    assert.deepEqual([ended('sessions'), ended('tokens')], [6, 3])
    for (let count = 0; count < 2; count++) await asSuper('DELETE', '/admins/realms/s')
    assert.deepEqual([ended('sessions'), ended('tokens')], [8, 6])
    await asSuper('DELETE', '/admins/realms/r')
    assert.deepEqual([ended('sessions'), ended('tokens')], [8, 6], 'nothing was left in it')
  })

  it('are valid for Prometheus: one set of labels for each name', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper, logIn } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    await logIn('r', 'ann')
    await auth.call('POST', '/login?realm=r', {})
    await asSuper('DELETE', '/sessions/realms/r')
    const metrics = createMetrics()
    for (const [key, by] of auth.counted) {
      const name = key.split('{')[0] ?? ''
      const labels = Object.fromEntries([...key.matchAll(/(\w+)="([^"]*)"/g)].map(([, a, b]) => [a, b]))
      metrics.count(name, labels as Record<string, string>, by)
    }
    const text = await metrics.exposition()
    assert.match(text, /warder_auth_logins_total\{method="basic",outcome="authenticated"\} 2/)
    assert.match(text, /warder_auth_sessions_total\{event="logged_out"\} 1/)
  })
})
