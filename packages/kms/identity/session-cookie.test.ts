import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { startKms } from '../testing/index.ts'

test('a login at the authentication service becomes a sealed cookie; nothing else is one', async () => {
  await using first = await startKms()
  let asked = ''
  const auth = createServer(
    {
      cert: readFileSync(join(first.home, 'tls/auth.crt')),
      key: readFileSync(join(first.home, 'tls/auth.key')),
    },
    (request, response) => {
      const right = `Basic ${Buffer.from('alice:correct horse').toString('base64')}`
      asked = request.url ?? ''
      response.writeHead(request.headers.authorization === right ? 200 : 401, {
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
    await using kms = await startKms({
      clock: { now: () => now, monotonic: () => performance.now() },
      config: {
        auth_verifier_url: `https://127.0.0.1:${port}`,
        auth_verifier_ca_cert: join(first.home, 'tls/ca.crt'),
        auth_verifier_realm: 'people',
      },
    })
    const login = (username: string, password: string) =>
      kms.with({}).post('/ui/login', { username, password })
    const answer = await login('alice', 'correct horse')
    assert.deepEqual([answer.status, answer.json], [200, { next_step: 'Authenticated' }], answer.text)
    assert.equal(asked, '/login?realm=people')
    const [header = ''] = answer.headers['set-cookie'] ?? []
    assert.match(header, /^auth_session=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=86400$/)
    const cookie = header.split(';')[0] ?? ''
    const me = (value: string) => kms.with({ cookie: value }).get('/me')
    assert.deepEqual((await me(cookie)).json, { user: 'alice' })
    assert.equal(cookie.includes(Buffer.from('alice').toString('base64url')), false)

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

test('without a realm there are no logins', async () => {
  await using kms = await startKms()
  assert.equal((await kms.with({}).post('/ui/login', { username: 'a', password: 'b' })).status, 404)
})
