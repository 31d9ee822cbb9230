import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fromBase32 } from './base32.ts'
import { codeAt } from './methods/totp/code.ts'
import type { Answer } from './testing/client.ts'
import { scene } from './testing/scene.ts'
import { knownHash, startAuth } from './testing/start.ts'

const many = <R>(count: number, run: (index: number) => Promise<R>): Promise<R[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)))
const listStatuses = (answers: readonly Answer[]): readonly number[] =>
  answers.map(({ status }) => status).sort((a, b) => a - b)

describe('two clients that send the same request concurrently', () => {
  it('create one realm, administrator, credential or role: the other request conflicts', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    await realm('r')
    const ages = { session_max_age_seconds: 60, session_max_stale_age_seconds: 30 }
    const creations: readonly (readonly [string, object])[] = [
      ['/admins/realms', { id: 'new', auth_params: {}, ...ages }],
      ['/admins', { id: 'new', realms: ['r'] }],
      ['/realms/r/userpass', { username: 'new', password_input: { hashed: knownHash } }],
    ]
    for (const [path, json] of creations) {
      const answers = await many(8, () => asSuper('POST', path, json))
      assert.deepEqual(listStatuses(answers), [201, ...Array(7).fill(409)], path)
    }
    const saved = await many(8, (index) =>
      asSuper('POST', '/auth/approle/role/new', { token_ttl: index + 1 }),
    )
    assert.deepEqual(listStatuses(saved), Array(8).fill(204))
    const ids = await many(4, () => asSuper('GET', '/auth/approle/role/new/role-id'))
    assert.equal(new Set(ids.map(({ json }) => json.data.role_id)).size, 1)
  })

  it('create a role of the same name in two realms: one succeeds, the other conflicts', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, realm, user, admin, logIn } = scene(auth)
    const chiefs: string[] = []
    for (const id of ['r', 's']) {
      await realm(id)
      await user(id, 'chief')
      await admin(`chief of ${id}`, [id], { userpass: 'chief' })
      chiefs.push(await logIn(id, 'chief'))
    }
    for (let round = 0; round < 4; round++) {
      const name = `/auth/approle/role/job${round}`
      const answers = await Promise.all(chiefs.map((cookie) => as(cookie, 'POST', name, {})))
      const refused = answers.filter(({ status }) => [403, 409].includes(status)).length
      assert.deepEqual([answers.filter(({ status }) => status === 204).length, refused], [1, 1])
      const seen = await Promise.all(chiefs.map((cookie) => as(cookie, 'GET', name)))
      assert.deepEqual(
        seen.map(({ status }) => status),
        answers.map(({ status }) => (status === 204 ? 200 : 403)),
      )
    }
  })

  it('renew and revoke a token: it ends up revoked (A21)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    await asSuper('POST', '/auth/approle/role/job', { bind_secret_id: false, token_ttl: 60 })
    const { role_id } = (await asSuper('GET', '/auth/approle/role/job/role-id')).json.data
    for (let round = 0; round < 6; round++) {
      const login = await auth.call('POST', '/auth/approle/login', { json: { role_id } })
      const token = login.json.auth.client_token as string
      const revoke = () => auth.call('POST', '/auth/token/revoke-self', { token })
      const renew = () => auth.call('POST', '/auth/token/renew-self', { token })
      const [revoked, renewed] = await Promise.all([many(2, revoke), many(6, renew)])
      assert.ok(listStatuses(revoked).includes(204), 'revoke')
      assert.ok([...listStatuses(revoked)].every((status) => [204, 403].includes(status)))
      assert.ok(listStatuses(renewed).every((status) => [200, 403].includes(status)))
      for (const answer of [
        await auth.call('GET', '/auth/token/lookup-self', { token }),
        await renew(),
        await revoke(),
      ]) {
        assert.equal(answer.status, 403)
      }
    }
    assert.equal(auth.counted.get('auth_tokens_total{event="revoked"}'), 6, 'each once')
  })

  it('use and destroy a secret id: a destroyed one allows no login (A20)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    await asSuper('POST', '/auth/approle/role/job', {})
    const { role_id } = (await asSuper('GET', '/auth/approle/role/job/role-id')).json.data
    for (let round = 0; round < 4; round++) {
      const { secret_id, secret_id_accessor } = (
        await asSuper('POST', '/auth/approle/role/job/secret-id', { num_uses: 9 })
      ).json.data
      const login = () => auth.call('POST', '/auth/approle/login', { json: { role_id, secret_id } })
      const [logins, destroyed] = await Promise.all([
        many(6, login),
        asSuper('POST', '/auth/approle/role/job/secret-id/destroy', { secret_id_accessor }),
      ])
      assert.equal(destroyed.status, 204)
      assert.ok(listStatuses(logins).every((status) => [200, 400].includes(status)))
      assert.equal((await login()).status, 400)
    }
  })

  it('delete the same administrator: all requests report success, also those of a realm admin', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, admin, logIn } = scene(auth)
    await realm('r')
    await user('r', 'chief')
    await admin('chief', ['r'], { userpass: 'chief' })
    const chief = await logIn('r', 'chief')
    for (let round = 0; round < 12; round++) {
      await admin('other', ['r'])
      const answers = await Promise.all([
        ...Array.from({ length: 3 }, () => as(chief, 'DELETE', '/admins/other')),
        asSuper('DELETE', '/admins/other'),
      ])
      assert.deepEqual(listStatuses(answers), [204, 204, 204, 204])
      await admin('other', ['_'])
      const supers = await many(4, () => asSuper('DELETE', '/admins/other'))
      assert.deepEqual(listStatuses(supers), [204, 204, 204, 204])
    }
  })

  it('delete the same realm, credential or role: all requests report success', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user } = scene(auth)
    const pods = { jwks_url: 'https://cluster.invalid/keys' }
    for (let round = 0; round < 4; round++) {
      await realm('r')
      await user('r', 'ann')
      await asSuper('POST', '/auth/approle/role/job?realm=r', {})
      await asSuper('POST', '/auth/orchestrator/role/pods?realm=r', pods)
      for (const path of [
        '/auth/approle/role/job',
        '/auth/orchestrator/role/pods',
        '/realms/r/userpass/ann',
        '/admins/realms/r',
      ]) {
        const answers = await many(4, () => asSuper('DELETE', path))
        assert.deepEqual(listStatuses(answers), [204, 204, 204, 204], path)
      }
    }
  })

  it('end the same sessions: both requests report success', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, as, realm, user, logIn } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const cookies = await many(4, () => logIn('r', 'ann'))
    const session_ids = await Promise.all(
      cookies.map(async (cookie) => (await as(cookie, 'GET', '/whoami')).json.jti as string),
    )
    const answers = await Promise.all([
      asSuper('DELETE', '/sessions', { session_ids }),
      asSuper('DELETE', '/sessions', { session_ids: [...session_ids].reverse() }),
      asSuper('DELETE', '/sessions/realms/r'),
      asSuper('DELETE', '/sessions/expired'),
    ])
    assert.deepEqual(listStatuses(answers), [204, 204, 204, 204])
    for (const cookie of cookies) assert.equal((await as(cookie, 'GET', '/whoami')).status, 401)
    assert.equal(auth.counted.get('auth_sessions_total{event="logged_out"}'), 4, 'each once')
  })

  it('change a password, the user and an administrator: exactly one of the new values wins', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user, logIn, as } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const before = await logIn('r', 'ann')
    const chosen = { basic: 'ann:correct horse', json: { new_password: 'chosen by Ann' } }
    const given = { password_input: { plaintext: 'given to Ann' } }
    const [own, foreign] = await Promise.all([
      auth.call('POST', '/password?realm=r', chosen),
      asSuper('PUT', '/realms/r/userpass/ann', given),
    ])
    assert.equal(foreign.status, 200)
    assert.ok([204, 401].includes(own.status))
    const logins = []
    for (const password of ['correct horse', 'chosen by Ann', 'given to Ann']) {
      logins.push((await auth.call('POST', '/login?realm=r', { basic: `ann:${password}` })).status)
    }
    assert.equal(logins[0], 401)
    assert.deepEqual(logins.slice(1).sort(), [200, 401])
    if (own.status === 401) assert.equal(logins[2], 200, 'who was refused has changed nothing')
    assert.equal((await as(before, 'GET', '/whoami')).status, 401)
  })

  it('enroll repeatedly with one code: logins cannot use it again (A04, A05)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const made = await asSuper('POST', '/realms/r/totp/generate', { username: 'ann' })
    const { secret_base32: secret } = made.json
    const bytes = fromBase32(secret) ?? Buffer.alloc(0)
    const code = (offset: number) => codeAt(bytes, Math.floor(auth.services.now() / 30) + offset, 'SHA1')
    const enroll = (offset: number) =>
      asSuper('POST', '/realms/r/totp/verify', { username: 'ann', token: code(offset), secret })
    const login = (offset: number) =>
      auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', json: { totp_code: code(offset) } })
    assert.deepEqual(listStatuses(await many(4, () => enroll(-1))), [200, 200, 200, 200])
    assert.equal((await login(-1)).status, 401)
    assert.equal((await login(0)).status, 200)
    assert.equal((await enroll(-1)).status, 200, 'with an older code')
    assert.equal((await login(0)).status, 401, 'which does not make the newer one fresh again')
    assert.equal((await login(1)).status, 200)
  })
})
