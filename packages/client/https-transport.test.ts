import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClientError } from './error.ts'
import { kmsClient } from './index.ts'
import type { KmsClientOptions } from './kms-client.ts'
import { type Answer, type FakeService, fakeService, json } from './testing/fake-service.ts'

let service: FakeService
before(async () => {
  service = await fakeService()
})
after(() => service[Symbol.asyncDispose]())

const client = (options: Partial<KmsClientOptions> = {}) =>
  kmsClient({ url: service.url, ca: service.ca, ...options })

/** The error kinds of calls; `done` for those that succeeded. */
async function ends(calls: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const toKind = (error: unknown): string => (error instanceof ClientError ? error.kind : String(error))
  return Promise.all(calls.map((call) => call.then(() => 'done', toKind)))
}

test('an unusable client certificate or authority is refused when the client is created', () => {
  const other = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  const { cert, key } = service.client
  for (const certificate of [
    { cert: 'nothing', key },
    { cert, key: 'nothing' },
    { cert, key: other },
    { cert: '', key: '' },
  ]) {
    assert.throws(() => client({ credentials: { certificate } }), {
      name: 'TypeError',
      message: /^the client certificate and its key \(PEM\) cannot be used: /,
    })
  }
  for (const ca of ['', 'nothing', key]) {
    assert.throws(() => client({ ca }), {
      name: 'TypeError',
      message: 'the trusted authority is not a certificate in PEM',
    })
  }
})

test('the timeout does not include the wait for a connection', async () => {
  const kms = client({ maxConnections: 1, timeoutMs: 600 })
  service.answer((response) => setTimeout(() => json(200, 'v')(response, service.received[0] as never), 250))
  assert.deepEqual(await ends([1, 2, 3, 4].map(() => kms.call('version'))), Array(4).fill('done'))
  kms.close()
})

test('close aborts running and waiting calls, and opens no connection', async () => {
  const kms = client({ maxConnections: 1 })
  service.answer(() => undefined)
  service.received.length = 0
  const calls = [1, 2, 3].map(() => kms.call('version'))
  while (service.received.length === 0) await sleep(5)
  const before = service.connections()
  kms.close()
  assert.deepEqual(await ends(calls), Array(3).fill('closed'))
  await sleep(100)
  assert.deepEqual([service.connections() - before, service.received.length], [0, 1])
  service.answer(json(200, 'v'))
  assert.equal(await kms.call('version'), 'v', 'a later call opens a connection of its own')
  kms.close()
})

test('a call is not retried after the client was closed', async () => {
  const kms = client({ wait: async () => kms.close() })
  service.answer(json(503, { error: 'overloaded', description: 'The server is busy.' }))
  service.received.length = 0
  assert.deepEqual(await ends([kms.call('version')]), ['closed'])
  assert.equal(service.received.length, 1)
})

test('a GET survives a keep-alive connection that the service closed; a POST is not sent twice', async () => {
  const kms = client({ maxConnections: 1 })
  const body = { kid: 'k', alg: 'ES256', data: 'AA' }
  service.received.length = 0
  // The last answer is repeated: later requests find their connection closed.
  service.answer(
    json(200, 'v'),
    (response) => response.destroy(),
    json(200, 'v'),
    (response) => response.destroy(),
  )
  assert.deepEqual(await ends([kms.call('version')]), ['done'])
  assert.deepEqual(await ends([kms.call('version')]), ['done'])
  assert.deepEqual(await ends([kms.call('crypto.sign', { body })]), ['unreachable'])
  assert.deepEqual(
    service.received.map(({ method }) => method),
    ['GET', 'GET', 'GET', 'POST'],
  )
  kms.close()
})

test('an oversized answer is aborted, with or without Content-Length', async () => {
  const kms = client({ maxAnswerBytes: 100 })
  const large = 'x'.repeat(200)
  const inParts: Answer = (response) => {
    response.writeHead(200).write(large.slice(0, 60))
    response.end(large.slice(60))
  }
  for (const answer of [json(200, large), inParts]) {
    service.answer(answer)
    await assert.rejects(kms.call('version'), {
      kind: 'unexpected_reply',
      description: `${service.url} sent more than 100 bytes`,
    })
  }
  kms.close()
})
