import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startAuth } from './testing/start.ts'

it('bodies that are deep, wide, long or ambiguous are refused quickly, before and after login (A31)', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const cookie = await auth.superCookie()
  const many = (count: number, one: (index: number) => string) =>
    Array.from({ length: count }, (_, i) => one(i))
  const bodies: Record<string, string> = {
    'depth 10,000': `{"totp_code":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    'depth 65': `{"totp_code":${'['.repeat(65)}${']'.repeat(65)}}`,
    'a million members': `{${many(1_000_000, (index) => `"k${index}":1`).join()}}`,
    'ten thousand elements where a text belongs': `{"totp_code":[${many(10_000, () => '1').join()}]}`,
    'a member twice': '{"totp_code":"123456","totp_code":"654321"}',
    'a member twice, escaped': '{"totp_code":"123456","totp\\u005fcode":"654321"}',
    __proto__: '{"__proto__":{"totp_code":"123456"}}',
    'a huge number': `{"totp_code":${'9'.repeat(10_000)}}`,
    'a giant text': `{"totp_code":"${'x'.repeat(60_000)}"}`,
    'no JSON': '{"totp_code":',
    'two values': '{}{}',
    'not UTF-8 text': '{"totp_code":"\ud800"}'.replace('\ud800', '\\ud800'),
  }
  for (const [what, body] of Object.entries(bodies)) {
    const calls = [
      auth.call('POST', '/login?realm=_', { body, basic: 'admin:wrong' }),
      auth.call('POST', '/auth/approle/login', { body }),
      auth.call('POST', '/admins', { body, cookie, headers: { 'content-type': 'application/json' } }),
    ]
    for (const answer of await Promise.all(calls)) {
      assert.ok([400, 413].includes(answer.status), `${what}: ${answer.status} ${answer.text.slice(0, 100)}`)
      assert.ok(answer.text.length < 1000, what)
    }
  }
  assert.equal((await auth.call('GET', '/whoami', { cookie })).status, 200)
})
