import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTokenBuckets } from '@warder/server'
import { isTestedOnPostgresql } from '@warder/storage/testing'
import type { Answer } from '../testing/client.ts'
import { type Started, startKms } from '../testing/start.ts'

const data = Buffer.from('attack at dawn').toString('base64url')
const outcome = ({ status, json }: Answer) => [status, json?.error]

/** Each concurrent request has its own connection. The rule under test is the same on both engines. */
const crowd = isTestedOnPostgresql ? 99 : 501

test('concurrent requests with valid and forged tokens each get the response of their own caller (2026-005, 2026-006)', async () => {
  await using kms = await startKms()
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const body = { kid, alg: 'dir', enc: 'A256GCM', data }
  const good = kms.token({ sub: 'alice' })
  const forged = `${good.slice(0, -6)}AAAAAA`
  const stranger = kms.token({ sub: 'mallory' })
  const wanted: [string, number][] = [
    [good, 200],
    [forged, 401],
    [stranger, 404],
  ]
  const callers = wanted.map(([token]) => kms.with({ authorization: `Bearer ${token}` }))
  await Promise.all(
    Array.from({ length: crowd }, async (_, index) => {
      const answer = await callers[index % 3]?.post('/v1/crypto/encrypt', body)
      assert.equal(answer?.status, wanted[index % 3]?.[1])
    }),
  )
})

test('cross-origin pages can neither read nor act; only the key set is public (K22)', async () => {
  await using open = await startKms({ server: { corsAllowedOrigins: ['https://console.test'] } })
  const { authorization } = { authorization: `Bearer ${open.token({ sub: 'alice' })}` }
  const ask = (origin: string, method: string, path: string, more: Readonly<Record<string, string>> = {}) =>
    open
      .with({ authorization, origin, ...more })
      .call(method, path, method === 'POST' ? { json: { kty: 'oct', alg: 'A256GCM' } } : {})
  for (const path of ['/v1/crypto/keys', '/access/grant', '/access/revoke']) {
    for (const origin of [
      'https://evil.test',
      'null',
      'https://console.test.evil.test',
      'http://console.test',
    ]) {
      const preflight = await ask(origin, 'OPTIONS', path, { 'access-control-request-method': 'POST' })
      assert.equal(preflight.headers['access-control-allow-origin'], undefined, origin)
      const acted = await ask(origin, 'POST', path)
      assert.deepEqual([acted.status, acted.headers['access-control-allow-origin']], [403, undefined], origin)
    }
  }
  const read = await ask('https://evil.test', 'GET', '/access/owned')
  assert.equal(read.headers['access-control-allow-origin'], undefined)
  const made = await ask('https://console.test', 'POST', '/v1/crypto/keys')
  assert.deepEqual([made.status, made.headers['access-control-allow-origin']], [200, 'https://console.test'])
  const keySet = await ask('https://evil.test', 'GET', '/.well-known/jwks.json')
  assert.equal(keySet.headers['access-control-allow-origin'], '*')
  assert.equal(keySet.headers['access-control-allow-credentials'], undefined)
})

test('only addresses for probes and caches ignore additional query parameters', async () => {
  await using edge = await startKms()
  for (const path of ['/health', '/version', '/.well-known/jwks.json']) {
    const { status, text } = await edge.with({}).get(`${path}?_=1764227158&cacheBuster=a`)
    assert.equal(status, 200, `${path} ${text}`)
  }
  const { status, json } = await edge.user('alice').get('/access/owned?_=1764227158')
  assert.deepEqual([status, /_: is not a known parameter/.test(json.description)], [400, true])
})

test('the rate limit covers every path, and counts the peer address, not forwarded headers (K21)', async () => {
  let now = 1_000_000
  const clock = { now: () => now, monotonic: () => now }
  const rateLimiter = createTokenBuckets({ ratePerSecond: 2, burst: 6, slots: 1024, clock })
  await using slow = await startKms({ server: { rateLimiter } })
  const ask = (path: string, index: number) => slow.with({ 'x-forwarded-for': `10.0.0.${index}` }).get(path)
  const paths = ['/version', '/.well-known/jwks.json', '/nothing', '/access/owned', '/health', '/me']
  for (const [index, path] of paths.entries()) assert.notEqual((await ask(path, index)).status, 429, path)
  for (const [index, path] of paths.entries()) {
    const answer = await ask(path, index + 10)
    assert.deepEqual(outcome(answer), [429, 'rate_limited'])
    assert.equal(answer.headers['retry-after'], answer.headers['x-ratelimit-after'])
    assert.ok(Number(answer.headers['retry-after']) >= 1)
  }
  now += 500
  assert.equal((await ask('/version', 1)).status, 200)
})

test("the recorded address is the peer's, or the one that a trusted proxy forwards (K16)", async () => {
  await using direct = await startKms()
  await using proxied = await startKms({ server: { trustedProxyCidrs: ['127.0.0.0/8'] } })
  const from = async (server: Started, forwarded: string) => {
    await server.with({ 'x-forwarded-for': forwarded, 'user-agent': 'a\tb' }).get('/me')
    return server.audit.at(-1)?.client_ip
  }
  assert.equal(await from(direct, '203.0.113.9'), '127.0.0.1')
  assert.equal(await from(proxied, '203.0.113.9'), '203.0.113.9')
  assert.equal(await from(proxied, '198.51.100.1, 203.0.113.9'), '203.0.113.9')
  assert.equal(await from(proxied, 'x"}[2J'), '127.0.0.1')
})

test('only data may be large; oversized logins, keys and grants are refused', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const long = (bytes: number) => 'A'.repeat(bytes)
  const login = (bytes: number) =>
    kms.with({}).post('/ui/login', { username: 'a', password: 'b', totp_code: long(bytes) })
  assert.ok([400, 404].includes((await login(16_000)).status))
  assert.equal((await login(16_384)).status, 413)
  for (const path of [
    '/v1/crypto/keys',
    '/v1/crypto/keys/unwrap',
    `/v1/crypto/keys/${kid}/tags`,
    '/access/grant',
    '/access/revoke',
    '/ui/logout',
  ]) {
    assert.equal((await alice.post(path, { x: long(256 * 1024) })).status, 413, path)
  }
  const request = { kid, alg: 'dir', enc: 'A256GCM' }
  const item = { ...request, op: 'encrypt', data: long(1000) }
  const batch = await alice.post('/v1/crypto/batch', { operations: Array(1000).fill(item) })
  assert.deepEqual([batch.status, batch.json.results.length], [200, 1000])
  assert.equal((await alice.post('/v1/crypto/encrypt', { ...request, data: long(4_000_000) })).status, 200)
})
