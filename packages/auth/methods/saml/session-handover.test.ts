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
