import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { readCookie, startAuth } from '../testing/start.ts'

const segment = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const pem =
  '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----'

describe('the session cookie', () => {
  it('is new at each login, and a planted cookie gains nothing (A23)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, as } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    await user('r', 'mallory')
    const planted = await logIn('r', 'mallory')
    const answer = await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', cookie: planted })
    const cookie = readCookie(answer)
    assert.notEqual(cookie, planted)
    assert.equal((await as(cookie, 'GET', '/whoami')).json.sub, 'ann')
    assert.equal((await as(planted, 'GET', '/whoami')).json.sub, 'mallory', 'it is still what it was')
    const sessions = new Set([cookie])
    for (let count = 0; count < 4; count++) sessions.add(await logIn('r', 'ann'))
    assert.equal(sessions.size, 5)
    const attributes = (answer.headers['set-cookie']?.[0] ?? '').split('; ').slice(1)
    assert.deepEqual(attributes, ['HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/', 'Max-Age=3600'])
    assert.equal(answer.headers['set-cookie']?.length, 1)
  })

  it('must be unique: two cookies of that name are refused, also equal ones', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const cookie = await auth.superCookie()
    const who = (header: string) => auth.call('GET', '/whoami', { headers: { cookie: header } })
    for (const header of [
      `_ea_=${cookie}; _ea_=${cookie}`,
      `_ea_=; _ea_=${cookie}`,
      `_ea_=${cookie}; a=b; _ea_=x`,
      `_ea_=x;_ea_=${cookie}`,
      `_ea_ =x; _ea_=${cookie}`,
    ]) {
      assert.equal((await who(header)).status, 401, header.slice(0, 20))
    }
    for (const header of [
      '_ea_=',
      '_ea_',
      `_EA_=${cookie}`,
      `x_ea_=${cookie}`,
      `_ea_=${cookie}x`,
      `_ea_=${cookie.slice(0, -1)}`,
      `_ea_=${encodeURIComponent(`${cookie} `)}`,
      `_ea_=${'x'.repeat(12_000)}`,
    ]) {
      assert.equal((await who(header)).status, 401, header.slice(0, 20))
    }
    assert.equal((await who(`a=b; _ea_=${cookie}; c=d`)).status, 200)
  })

  it('is not accepted as a bearer token, machine token or part of the URL', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const cookie = await auth.superCookie()
    const id = (await auth.call('GET', '/whoami', { cookie })).json.jti
    for (const call of [
      { bearer: cookie },
      { token: cookie },
      { cookie: id },
      { basic: `admin:${cookie}` },
      { headers: { 'x-vault-token': cookie } },
    ]) {
      assert.equal((await auth.call('GET', '/whoami', call)).status, 401, Object.keys(call).join())
      assert.equal((await auth.call('GET', `/sessions/${id}`, call)).status, 401)
    }
    assert.equal((await auth.call('GET', `/whoami?_ea_=${cookie}`)).status, 401)
    assert.equal((await auth.call('POST', '/login?realm=_', { bearer: cookie })).status, 401)
  })

  it('is refused after any change, and so is a certificate (A10)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, as } = scene(auth)
    await realm('r')
    await user('r', 'admin')
    const cookie = await logIn('r', 'admin')
    const [header = '', payload = '', signature = ''] = cookie.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    for (const change of [
      { as_rid: '_', aud: ['_'] },
      { sub: 'root' },
      { jti: randomUUID() },
      { exp: claims.exp + 9 },
      { as_as: 'cc' },
    ]) {
      const forged = `${header}.${segment({ ...claims, ...change })}.${signature}`
      assert.equal((await as(forged, 'GET', '/whoami')).status, 401, JSON.stringify(change))
    }
    for (const text of [
      `${segment({ alg: 'none', typ: 'JWT' })}.${payload}.`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.x`,
      `${header}.${payload}.${signature}=`,
    ]) {
      assert.equal((await as(text, 'GET', '/whoami')).status, 401)
    }
    // A session of one realm has no rights in another one, whose user of the same name is a super
    // administrator.
    assert.equal((await as(cookie, 'GET', '/whoami?realm=_')).status, 401)
    assert.equal((await as(cookie, 'GET', '/whoami?realm=nowhere')).status, 401)
    assert.equal((await as(cookie, 'GET', '/admins')).status, 403)
    const { certificate } = (await as(cookie, 'POST', '/certify', { verification_key: pem })).json
    assert.equal((await as(certificate, 'GET', '/whoami')).status, 401)
    assert.equal((await as(certificate, 'GET', '/admins/realms')).status, 401)
    assert.equal((await auth.call('POST', '/login?realm=r', { bearer: certificate })).status, 401)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token: certificate })).status, 403)
  })
})
