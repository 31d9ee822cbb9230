import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineOperation, get, post } from '../operations/define.ts'
import { documentationOperations } from './documentation.ts'
import { live } from './fixtures/live.ts'

const define = defineOperation<undefined>()
const act = define({
  name: 'test.act',
  route: post('/act'),
  summary: 'Acts',
  tag: 'test',
  access: { name: 'signed in' },
  reach: [],
  act: () => ({ ok: true }),
})
const open = define({
  name: 'test.open',
  route: get('/open'),
  summary: 'Open',
  tag: 'test',
  access: { name: 'public', public: true },
  reach: [],
  cors: 'any-origin',
  act: () => ({ ok: true }),
})
const leave = define({
  name: 'test.leave',
  route: post('/leave'),
  summary: 'Ends the session of a cookie',
  tag: 'test',
  access: { name: 'public', public: true },
  reach: [],
  act: () => ({ ok: true }),
})
const base = {
  services: undefined,
  operations: [act, open, leave, ...documentationOperations<undefined>({ document: { a: 'yes' } })],
  authenticate: () => ({ name: 'alice', method: 'session' }),
  corsAllowedOrigins: ['https://console.example'],
}
const from = (origin: string, more: Readonly<Record<string, string>> = {}) => ({
  headers: { origin, ...more },
})

test('configured and own origins may read replies with credentials, others may not act', async () => {
  await using server = await live(base)
  for (const origin of ['https://console.example', `https://127.0.0.1:${server.port}`]) {
    const answer = await server.call('POST', '/act', from(origin))
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['access-control-allow-origin'], origin)
    assert.equal(answer.headers['access-control-allow-credentials'], 'true')
    assert.equal(answer.headers.vary, 'Origin')
  }
  for (const origin of ['https://evil.example', 'null', 'https://console.example.evil.example']) {
    const answer = await server.call('POST', '/act', from(origin))
    assert.equal(answer.status, 403)
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
  }
})

test('a cross-origin page cannot log a user in or out: public operations are refused to it, too', async () => {
  await using server = await live(base)
  assert.equal((await server.call('POST', '/leave', from('https://evil.example'))).status, 403)
  assert.equal((await server.call('POST', '/leave', from('https://console.example'))).status, 200)
  assert.equal((await server.call('POST', '/leave')).status, 200)
})

test('an operation for any origin answers with a star and no credentials', async () => {
  await using server = await live(base)
  const answer = await server.call('GET', '/open', from('https://evil.example'))
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.equal(answer.headers['access-control-allow-credentials'], undefined)
})

test('a preflight is answered for permitted origins only', async () => {
  await using server = await live(base)
  const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
  const good = await server.call('OPTIONS', '/act', from('https://console.example', asked))
  assert.equal(good.status, 204)
  assert.equal(good.headers['access-control-allow-origin'], 'https://console.example')
  assert.equal(good.headers['access-control-allow-methods'], 'POST')
  assert.equal(good.headers['access-control-allow-headers'], 'content-type')
  assert.equal((await server.call('OPTIONS', '/act', from('https://evil.example', asked))).status, 403)
})

test('the documents are public, and the page runs under a strict policy without inline code', async () => {
  await using server = await live(base)
  assert.equal((await server.call('GET', '/openapi.yaml')).text, 'a: "yes"\n')
  const page = await server.call('GET', '/swagger')
  assert.match(String(page.headers['content-security-policy']), /script-src 'self';.*frame-ancestors 'none'/)
  assert.doesNotMatch(page.text, /<script>|style=|https?:\/\//)
  for (const file of ['/swagger.js', '/swagger.css'])
    assert.equal((await server.call('GET', file)).status, 200)
})
