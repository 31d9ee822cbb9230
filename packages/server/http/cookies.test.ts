import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineOperation, get } from '../operations/define.ts'
import { live } from './fixtures/live.ts'

const cookies = defineOperation<undefined>()({
  name: 'test.cookies',
  route: get('/cookies'),
  summary: 'Tells its cookies',
  tag: 'test',
  access: { name: 'public', public: true },
  reach: [],
  act: (_input, { request }) => ({ session: request.cookies('session') }),
})
const options = { services: undefined, operations: [cookies] }
const head = 'GET /cookies HTTP/1.1\r\nHost: a\r\nConnection: close\r\n'
const padding = (count: number) => Array.from({ length: count }, (_, index) => `c${index}=x`).join('; ')

test('every cookie of a name is found, wherever it stands', async () => {
  await using server = await live(options)
  for (const header of [
    'Cookie: session=a; session=b\r\n',
    `Cookie: session=a; ${padding(1500)}; session=b\r\n`,
    `Cookie: session=a${';'.repeat(10_000)}session=b\r\n`,
    'Cookie: session=a\r\nCookie: session=b\r\n',
    `Cookie: session=a\r\n${'a:\r\n'.repeat(3000)}Cookie: session=b\r\n`,
    'Cookie: x; session="a"; session;session = b\r\n',
  ]) {
    const answer = await server.raw(`${head}${header}\r\n`)
    assert.match(answer, /^HTTP\/1\.1 200 [\s\S]*\{"session":\["a","b"\]\}$/, header.slice(0, 60))
  }
})

test('a header that must be there once is found a second time behind a thousand others', async () => {
  await using server = await live(options)
  for (const name of ['Host', 'Authorization']) {
    const answer = await server.raw(`${head}${name}: a\r\n${'a:\r\n'.repeat(3000)}${name}: b\r\n\r\n`)
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*more than once/)
  }
})
