import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publishedIssuers } from './published-issuers.ts'

function scene() {
  let body = '{"issuers":["https://a.example"]}'
  let status = 200
  let asked = 0
  let now = 0
  const outbound = {
    get: async () => {
      asked += 1
      return { status, headers: {}, body: Buffer.from(body) }
    },
    post: async () => assert.fail('nothing is posted'),
    delete: async () => assert.fail('nothing is deleted'),
  }
  const quiet = (): void => undefined
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => log }
  const accepts = publishedIssuers({
    url: 'https://auth.example/.well-known/session-issuers',
    outbound,
    clock: { now: () => now, monotonic: () => now },
    log,
  })
  return {
    accepts,
    asked: () => asked,
    answer(newBody: string, newStatus = 200) {
      body = newBody
      status = newStatus
    },
    wait: (ms: number) => {
      now += ms
    },
  }
}

test('callers that come together ask once, and a known issuer is not asked for again', async () => {
  const { accepts, asked } = scene()
  assert.deepEqual(await Promise.all([accepts('https://a.example'), accepts('https://b.example')]), [
    true,
    false,
  ])
  assert.equal(await accepts('https://a.example'), true)
  assert.equal(asked(), 1)
})

test('an issuer that is published later is learned, at most one question in five seconds', async () => {
  const { accepts, answer, asked, wait } = scene()
  assert.equal(await accepts('https://b.example'), false)
  answer('{"issuers":["https://b.example"]}')
  assert.equal(await accepts('https://b.example'), false)
  assert.equal(asked(), 1)
  wait(5_000)
  assert.equal(await accepts('https://b.example'), true)
})

test('what is not a list of issuers changes nothing', async () => {
  const { accepts, answer, wait } = scene()
  await accepts('https://a.example')
  for (const [body, status] of [
    ['{"issuers":["https://b.example"]}', 404],
    ['{"issuers":"https://b.example"}', 200],
    ['{"issuers":["https://b.example",7]}', 200],
    ['["https://b.example"]', 200],
    ['<html>', 200],
  ] as const) {
    answer(body, status)
    wait(5_000)
    assert.equal(await accepts('https://b.example'), false, body)
    assert.equal(await accepts('https://a.example'), true)
    assert.equal(await accepts(undefined), false)
  }
})
