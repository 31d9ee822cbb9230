import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import type { AuthClientOptions } from './auth-client.ts'
import { authClient } from './index.ts'
import { type FakeService, fakeService, json } from './testing/fake-service.ts'

let service: FakeService
before(async () => {
  service = await fakeService()
})
after(() => service[Symbol.asyncDispose]())

function client(options: Partial<AuthClientOptions> = {}) {
  service.received.length = 0
  const auth = authClient({ url: service.url, ca: service.ca, wait: async () => undefined, ...options })
  return Object.assign(auth, { [Symbol.dispose]: () => auth.close() })
}

const authenticated = json(
  200,
  { next_step: 'Authenticated', session_id: 's-1' },
  { 'set-cookie': '_ea_=t.o.k; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=60' },
)

test('a login by name and password returns the session and its token, after the intermediate steps', async () => {
  using auth = client()
  service.answer(
    json(200, { next_step: 'TotpRequired', session_id: null }),
    json(200, { next_step: 'ChangePassword', session_id: null }),
    json(503, { error: 'overloaded', description: 'Too many logins at once.' }, { 'retry-after': '1' }),
    authenticated,
  )
  const login = { realm: 'shop', username: 'jörg', password: 'päss:wörd' }
  assert.deepEqual(await auth.login(login), {
    step: 'TotpRequired',
    factors: ['totp'],
    passkeyOptions: undefined,
  })
  assert.deepEqual(await auth.login({ ...login, totpCode: '123456' }), { step: 'ChangePassword' })
  assert.deepEqual(await auth.login(login), { step: 'Authenticated', sessionId: 's-1', token: 't.o.k' })
  const [first, second] = service.received
  const basic = `Basic ${Buffer.from('jörg:päss:wörd').toString('base64')}`
  assert.deepEqual([first?.target, first?.headers.authorization], ['/login?realm=shop', basic])
  assert.deepEqual([first?.body, second?.body], ['{}', '{"totp_code":"123456"}'])
  assert.equal(service.received.length, 4, 'a busy service is asked again')
})

test('a login without a name uses the credentials of the client', async () => {
  service.answer(authenticated)
  using bearer = client({ credentials: { bearer: 'j.w.t' } })
  await bearer.login({ realm: 'shop' })
  assert.equal(service.received[0]?.headers.authorization, 'Bearer j.w.t')
  using certified = client({ credentials: { certificate: service.client } })
  await certified.login({ realm: 'shop' })
  assert.equal(service.received[0]?.certificate, 'carol')
})

test('a refused login, and one without a session, throw errors that do not contain the password', async () => {
  using auth = client({ retries: 0 })
  const login = { realm: 'shop', username: 'ann', password: 'the password' }
  service.answer(json(401, { error: 'unauthorized', description: 'Credentials are missing or not valid.' }))
  await assert.rejects(auth.login(login), (error) => {
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes('the password'))
    return (error as { kind?: string }).kind === 'unauthorized'
  })
  service.answer(json(200, { next_step: 'Authenticated', session_id: 's-1' }))
  await assert.rejects(auth.login(login), { kind: 'unexpected_reply' })
  for (const wrong of [{ username: 'ann' }, { password: 'x' }, { username: 'a:b', password: 'x' }])
    await assert.rejects(auth.login({ realm: 'shop', ...wrong }), TypeError)
})

test('calls use the session or the machine token of the client', async () => {
  service.answer(json(200, {}))
  using auth = client({ credentials: { session: 't.o.k' } })
  await auth.call('whoami', { query: { realm: 'shop' } })
  assert.equal(service.received[0]?.headers.cookie, '_ea_=t.o.k')
  assert.ok(!inspect(auth, { depth: 9, showHidden: true }).includes('t.o.k'))
  using machine = client({ credentials: { secretToken: 'wt.abc' } })
  await machine.call('token.lookup_self')
  assert.equal(service.received[0]?.headers['x-secret-token'], 'wt.abc')
  assert.throws(() => client({ credentials: { session: 'a\r\nx: y' } }), TypeError)
})

test('a password change is authenticated with the old password', async () => {
  using auth = client()
  service.answer(json(204, undefined))
  await auth.changePassword({ realm: 'shop', username: 'ann', password: 'old', newPassword: 'new' })
  const [sent] = service.received
  assert.deepEqual([sent?.target, sent?.body], ['/password?realm=shop', '{"new_password":"new"}'])
  assert.equal(sent?.headers.authorization, `Basic ${Buffer.from('ann:old').toString('base64')}`)
})
