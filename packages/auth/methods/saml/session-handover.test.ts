import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { scene } from '../../testing/scene.ts'
import { peerSecret, readCookie, startAuth } from '../../testing/start.ts'

const verifier = 'v'.repeat(43)
const asked = {
  return_to: 'https://kms.example/ui/callback?page=keys',
  state: 's'.repeat(16),
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
}

test('a session by password is handed over to the service that requested it, once', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { as, realm, user, logIn } = scene(auth)
  await realm('r')
  await realm('s')
  await user('r', 'ann')
  const request = (json: object = asked, secret = peerSecret) =>
    auth.call('POST', '/handover', { json, headers: { 'x-warder-peer': secret } })
  assert.equal((await request(asked, 'another secret')).status, 401, 'no other site names an address')
  for (const return_to of ['http://kms.example/', 'https://u@kms.example/', 'https://kms.example/#x', 'kms'])
    assert.equal((await request({ ...asked, return_to })).status, 400, return_to)
  const requested = await request()
  assert.equal(requested.status, 200, requested.text)
  const cookie = await logIn('r', 'ann')
  const give = (text = requested.json.request) => as(cookie, 'POST', '/account/handover', { request: text })
  for (const text of ['AAAA', `${requested.json.request}A`]) assert.equal((await give(text)).status, 400)
  const given = await give()
  assert.equal(given.status, 200, given.text)
  const location = new URL(given.json.location)
  assert.deepEqual(
    [location.origin, ...['page', 'state', 'realm'].map((name) => location.searchParams.get(name))],
    ['https://kms.example', 'keys', asked.state, 'r'],
  )
  const code = location.searchParams.get('code') ?? ''
  const redeem = (json: object, id = 'r') => auth.call('POST', `/saml/${id}/session`, { json })
  assert.equal((await redeem({ code, code_verifier: 'w'.repeat(43) })).status, 401, 'a stolen code')
  assert.equal((await redeem({ code, code_verifier: verifier }, 's')).status, 401, 'of another realm')
  const answers = await Promise.all([1, 2, 3].map(() => redeem({ code, code_verifier: verifier })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401])
  const redeemed = answers.find(({ status }) => status === 200)
  assert.ok(redeemed !== undefined)
  assert.equal(readCookie(redeemed), cookie, 'one session')
  const late = new URL((await give()).json.location).searchParams.get('code')
  auth.clock.advance(60)
  assert.equal((await redeem({ code: late, code_verifier: verifier })).status, 401, 'after a minute')
  assert.ok(!JSON.stringify(auth.events).includes(code))
  const end = { logout_handle: redeemed.json.logout_handle }
  assert.equal((await auth.call('POST', '/saml/r/session/end', { json: end })).status, 204)
  assert.equal((await as(cookie, 'GET', '/whoami')).status, 401, 'a logout there is one here')
  assert.equal((await give()).status, 401)
  const again = await logIn('r', 'ann')
  auth.clock.advance(540)
  const expired = await as(again, 'POST', '/account/handover', { request: requested.json.request })
  assert.equal(expired.status, 400)
})

const program = { ...asked, return_to: 'http://127.0.0.1:4711/warder-login' }

test('a program on the computer of the user gets a session after the user has confirmed, once', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { as, realm, user, logIn } = scene(auth)
  await realm('r')
  await user('r', 'ann')
  const request = (json: object) => auth.call('POST', '/handover/program', { json })
  for (const return_to of [
    ...[
      'https://127.0.0.1:4711/',
      'http://127.0.0.1/',
      'http://localhost:4711/',
      'http://127.0.0.1:4711@evil.example/',
    ],
    ...[
      'http://127.0.0.1.evil.example:80/',
      'http://evil.example:4711/',
      'http://127.0.0.1:4711/?a=b',
      'http://127.0.0.1:99999/',
    ],
    ...[
      'http://127.0.0.1:4711/#x',
      'http://0.0.0.0:4711/',
      'http://127.1:4711/',
      'https://kms.example/',
      'javascript:x',
      '',
    ],
  ])
    assert.equal((await request({ ...program, return_to })).status, 400, return_to)
  for (const json of [
    { ...program, state: 'short' },
    { ...program, code_challenge: 'x' },
    { ...program, confirmed: true },
    { return_to: program.return_to },
  ])
    assert.equal((await request(json)).status, 400, JSON.stringify(json))
  const requested = await request(program)
  assert.equal(requested.status, 200, requested.text)
  const page = new URL(requested.json.page)
  assert.deepEqual([page.hostname, page.pathname], ['localhost', '/ui/handover'], 'where passkeys belong to')
  assert.equal(page.searchParams.get('request'), requested.json.request)
  const cookie = await logIn('r', 'ann')
  const give = (more: object = {}, session = cookie) =>
    as(session, 'POST', '/account/handover', { request: requested.json.request, ...more })
  for (const more of [{}, { confirmed: false }]) {
    const unconfirmed = await give(more)
    assert.deepEqual([unconfirmed.status, unconfirmed.json], [200, { confirm: 'program' }], 'no code')
  }
  assert.equal((await give({ confirmed: 'true' })).status, 400)
  assert.equal(
    (await auth.call('POST', '/account/handover', { json: { request: requested.json.request } })).status,
    401,
  )
  const foreign = {
    json: { request: requested.json.request, confirmed: true },
    headers: { origin: 'https://evil.example' },
  }
  assert.equal(
    (await auth.call('POST', '/account/handover', { ...foreign, cookie })).status,
    403,
    'no other page confirms',
  )
  const location = new URL((await give({ confirmed: true })).json.location)
  assert.deepEqual(
    [
      location.origin,
      location.pathname,
      location.searchParams.get('state'),
      location.searchParams.get('realm'),
    ],
    ['http://127.0.0.1:4711', '/warder-login', asked.state, 'r'],
  )
  const code = location.searchParams.get('code') ?? ''
  const redeem = (code_verifier: string) =>
    auth.call('POST', '/saml/r/session', { json: { code, code_verifier } })
  assert.equal((await redeem('w'.repeat(43))).status, 401, 'another program that has seen the code')
  const redeemed = await redeem(verifier)
  assert.equal(readCookie(redeemed), cookie)
  assert.equal((await redeem(verifier)).status, 401, 'once')
  assert.ok(!JSON.stringify(auth.events).includes(code))
  auth.clock.advance(600)
  assert.equal((await give({ confirmed: true }, await logIn('r', 'ann'))).status, 400, 'after ten minutes')
})
