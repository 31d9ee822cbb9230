import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { startKms } from '@warder/kms/testing'
import { sessionCookie } from './session-cookie.ts'

/** Answers of the authentication service that are no login, by the name that gets them. */
const lies: Readonly<Record<string, (response: ServerResponse) => void>> = {
  totp: (response) => response.end('{"next_step":"TotpRequired"}'),
  password: (response) => response.end('{"next_step":"ChangePassword"}'),
  spelling: (response) => response.end('{"next_step":"authenticated"}'),
  list: (response) => response.end('{"next_step":["Authenticated"]}'),
  empty: (response) => response.end(),
  text: (response) => response.end('Authenticated'),
  huge: (response) => response.end(`{"next_step":"Authenticated","x":"${'x'.repeat(2 ** 21)}"}`),
  created: (response) => response.writeHead(201).end('{"next_step":"Authenticated"}'),
  moved: (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
  broken: (response) => response.writeHead(500).end('{"next_step":"Authenticated"}'),
  refused: (response) => response.writeHead(403).end('{"next_step":"Authenticated"}'),
  busy: (response) => response.writeHead(429).end(),
  gone: (response) => response.destroy(),
}
/** Answer to the browser for each: status and next step. */
const told: Readonly<Record<string, readonly [status: number, nextStep?: string]>> = {
  totp: [200, 'TotpRequired'],
  password: [200, 'ChangePassword'],
  spelling: [200, 'authenticated'],
  list: [503],
  empty: [503],
  text: [503],
  huge: [503],
  created: [503],
  moved: [503],
  broken: [503],
  refused: [401],
  busy: [429],
  gone: [503],
}

test('a login at the authentication service becomes a sealed cookie; nothing else is one', async () => {
  await using first = await startKms()
  let asked = ''
  const auth = createServer(
    {
      cert: readFileSync(join(first.home, 'tls/auth.crt')),
      key: readFileSync(join(first.home, 'tls/auth.key')),
    },
    (request, response) => {
      const right = ['alice', 'jos\u00e9'].map((name) => `${name}:correct horse`)
      const given = String(request.headers.authorization).replace('Basic ', '')
      asked = request.url ?? ''
      const [name = ''] = Buffer.from(given, 'base64').toString().split(':')
      if (name in lies) return lies[name]?.(response)
      response.writeHead(right.includes(Buffer.from(given, 'base64').toString()) ? 200 : 401, {
        'content-type': 'application/json',
      })
      response.end('{"next_step":"Authenticated"}')
    },
  )
  await new Promise<void>((resolve) => auth.listen(0, '127.0.0.1', resolve))
  const address = auth.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  let now = Date.now()
  try {
    const options = {
      clock: { now: () => now, monotonic: () => performance.now() },
      config: {
        auth_verifier_url: `https://127.0.0.1:${port}`,
        auth_verifier_ca_cert: join(first.home, 'tls/ca.crt'),
        auth_verifier_realm: 'people',
      },
    }
    await using kms = await startKms(options)
    const login = (username: string, password: string) =>
      kms.with({}).post('/ui/login', { username, password })
    const answer = await login('alice', 'correct horse')
    assert.deepEqual([answer.status, answer.json], [200, { next_step: 'Authenticated' }], answer.text)
    assert.equal(asked, '/login?realm=people')
    const [header = ''] = answer.headers['set-cookie'] ?? []
    assert.match(header, /^auth_session=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=86400$/)
    const cookie = header.split(';')[0] ?? ''
    const me = (value: string) => kms.with({ cookie: value }).get('/me')
    const { user, until } = (await me(cookie)).json
    assert.equal(user, 'alice')
    assert.ok(Math.abs(Date.parse(until) - kms.services.clock.now() - 86_400_000) < 60_000, until)
    assert.equal(cookie.includes(Buffer.from('alice').toString('base64url')), false)

    assert.equal((await kms.with({}).get('/me')).status, 401)
    const hostile = `<b>"&'`
    const marked = sessionCookie(kms.environment, { name: hostile, realm: 'people' }).split(';')[0]
    const named = await kms.with({ cookie: marked ?? '' }).get('/me')
    assert.match(String(named.headers['content-type']), /^application\/json/)
    assert.equal(named.json.user, hostile)

    // One user however the name is composed: it is the one that the authentication service knows (K14).
    for (const name of ['jos\u00e9', 'jose\u0301']) {
      const composed = await login(name, 'correct horse')
      assert.equal(composed.status, 200)
      const session = composed.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
      assert.equal((await me(session)).json.user, 'jos\u00e9')
    }

    // Whatever the peer says that is not this word, nobody is logged in.
    for (const [name, [status, nextStep]] of Object.entries(told)) {
      const refused = await login(name, 'correct horse')
      assert.deepEqual(
        [refused.status, refused.json.next_step, refused.headers['set-cookie']],
        [status, nextStep, undefined],
        `${name} ${refused.text}`,
      )
    }

    assert.equal((await login('alice', 'wrong')).status, 401)
    assert.equal((await login('alice:x', 'correct horse')).status, 401)
    assert.equal((await login('app:robot', 'x')).status, 401)
    for (const forged of [
      `${cookie.slice(0, -4)}AAAA`,
      'auth_session=x',
      `${cookie}; ${cookie}`,
      `auth_session=${'A'.repeat(5000)}`,
    ]) {
      assert.equal((await me(forged)).status, 401)
    }
    // A logout ends the session itself, on every node: a copy of the cookie is worth nothing. Others go on.
    const second = (await login('alice', 'correct horse')).headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const logout = (value: string) => kms.with({ cookie: value }).post('/ui/logout', {})
    for (const value of [second, second, '', 'auth_session=x'])
      assert.equal((await logout(value)).status, 204)
    assert.equal((await me(second)).status, 401)
    assert.equal((await me(cookie)).json.user, 'alice')
    await using node = await startKms({ ...options, db: kms.environment.db, seal: kms.services.seal })
    assert.equal((await node.with({ cookie: second }).get('/me')).status, 401)
    assert.equal((await node.with({ cookie }).get('/me')).json.user, 'alice')

    now += 86_400_000
    assert.equal((await me(cookie)).status, 401)
    assert.ok(
      !JSON.stringify(kms.audit).includes('correct horse') && !kms.log.join().includes('correct horse'),
    )
  } finally {
    auth.closeAllConnections()
    auth.close()
  }
})

test('a logout ends the session here although the authentication service does not respond, and says so', async () => {
  await using kms = await startKms({
    config: { auth_verifier_url: 'https://127.0.0.1:1', auth_verifier_realm: 'people' },
  })
  const user = { name: 'alice', realm: 'people', sessionId: 'there', logoutHandle: 'handle' }
  const cookie = sessionCookie(kms.environment, user).split(';')[0] ?? ''
  const browser = kms.with({ cookie })
  assert.equal((await browser.get('/me')).status, 200)
  for (const _ of [1, 2]) {
    const { status, headers } = await browser.post('/ui/logout', {})
    assert.deepEqual([status, headers['set-cookie']], [503, undefined], 'the cookie stays for the next try')
    assert.equal((await browser.get('/me')).status, 401)
  }
})

test('a session lasts as long as logins of its realm, or at its provider, are configured', async () => {
  const people = { auth_verifier_url: 'https://127.0.0.1:1', auth_verifier_realm: 'people' }
  const provider = (issuer: string) => ({
    'ui_config.ui_oidc_auth.ui_oidc_issuer_url': issuer,
    'ui_config.ui_oidc_auth.ui_oidc_client_id': 'warder',
  })
  await using kms = await startKms({ config: people })
  const { db, seal } = kms.environment
  const realms = ['people', 'https://one.test']
  const cookies = realms.map(
    (realm) => sessionCookie(kms.environment, { name: 'alice', realm }).split(';')[0],
  )
  for (const [config, ...statuses] of [
    [people, 200, 401],
    [{ ...people, auth_verifier_realm: 'staff' }, 401, 401],
    [provider('https://one.test'), 401, 200],
    [{ ...people, ...provider('https://one.test') }, 200, 200],
    [provider('https://two.test'), 401, 401],
  ] as const) {
    await using node = await startKms({ db, seal, config })
    const answers = cookies.map((cookie = '') => node.with({ cookie }).get('/me'))
    assert.deepEqual(
      (await Promise.all(answers)).map(({ status }) => status),
      statuses,
      JSON.stringify(config),
    )
  }
})

test('without a realm there are no logins', async () => {
  await using kms = await startKms()
  assert.equal((await kms.with({}).post('/ui/login', { username: 'a', password: 'b' })).status, 404)
})
