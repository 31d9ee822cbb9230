import assert from 'node:assert/strict'
import { it } from 'node:test'
import { requestsWithText } from '@warder/server/testing'
import { authOperations } from './operations.ts'
import { scene } from './testing/scene.ts'
import { startAuth } from './testing/start.ts'

const samples = { realm_id: 'r', session_id: '00000000-0000-4000-8000-000000000000', admin_id: 'admin' }
const cursor = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

// PostgreSQL does not support U+0000 in text: `postgres-attacks.test.ts` runs this there, too.
it('U+0000 and unpaired surrogates in any text of a request get 400', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { realm } = scene(auth)
  await realm('r')
  const cookie = await auth.superCookie()
  let requests = 0
  for (const [escaped, encoded] of [
    ['\\u0000', '%00'],
    ['\\ud800', '%ED%A0%80'],
  ] as const)
    for (const hostile of requestsWithText(
      authOperations as Parameters<typeof requestsWithText>[0],
      samples,
      escaped,
      encoded,
    )) {
      const { method, path, body, place, operation } = hostile
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const answer = await auth.call(method, path, { cookie, headers, ...(body !== undefined && { body }) })
      requests++
      // Operations with other credentials refuse the request before they read its body.
      const strict = /^(?:realms|admins|credentials|sessions|totp|jwt_subjects|certify)\b/.test(operation)
      const allowed = strict ? [400] : [400, 401, 403, 404, 409, 415, 429]
      assert.ok(allowed.includes(answer.status), `${operation} ${place}: ${answer.status} ${answer.text}`)
    }
  assert.ok(requests > 500, String(requests))

  for (const path of [
    `/sessions/realms/r?after=${cursor(['a\0', 'b'])}`,
    `/sessions/realms/r?after=${cursor(['a', '\ud800'])}`,
    `/realms/r/userpass?after=${cursor('a\0')}`,
    `/admins?after=${cursor(['a\0'])}`,
  ])
    assert.ok([200, 400].includes((await auth.call('GET', path, { cookie })).status), path)
  for (const basic of ['a\0:b', 'a:b\0', '\0:\0']) {
    const answer = await auth.call('POST', '/login?realm=r', { basic })
    assert.ok([400, 401].includes(answer.status), `${JSON.stringify(basic)} ${answer.text}`)
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded', cookie: '_ea_saml=a%00' }
  for (const body of ['SAMLResponse=a%00&RelayState=a%00', 'RelayState=%ED%A0%80', '%00=%00']) {
    const answer = await auth.call('POST', '/saml/r/acs', { body, headers: form })
    assert.equal(answer.status, 400, answer.text)
  }
})
