import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { ClientError } from './error.ts'
import { kmsClient } from './index.ts'
import type { KmsClientOptions } from './kms-client.ts'
import { type FakeService, fakeService, json } from './testing/fake-service.ts'

let service: FakeService
before(async () => {
  service = await fakeService()
})
after(() => service[Symbol.asyncDispose]())

const waited: number[] = []

function client(options: Partial<KmsClientOptions> = {}) {
  waited.length = 0
  service.received.length = 0
  const kms = kmsClient({
    url: service.url,
    ca: service.ca,
    wait: async (seconds) => void waited.push(seconds),
    ...options,
  })
  return Object.assign(kms, { [Symbol.dispose]: () => kms.close() })
}

async function catchError(call: Promise<unknown>): Promise<ClientError> {
  const error = await call.then(
    () => assert.fail('it succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ClientError, String(error))
  return error
}

const busy = (retryAfter?: string) =>
  json(
    503,
    { error: 'overloaded', description: 'The server is busy: wait and try again.' },
    retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  )

test('a call sends method, path, query and body of its operation, and returns the reply', async () => {
  using kms = client()
  service.answer(json(200, { protected: 'a', signature: 'b' }))
  const body = { kid: 'k', alg: 'ES256', data: 'aGk' }
  assert.deepEqual(await kms.call('crypto.sign', { body }), { protected: 'a', signature: 'b' })
  service.answer(json(200, []))
  await kms.call('access.owned', { query: { after: 'a&b', limit: '5' } })
  await kms.call('access.owned')
  service.answer(json(204, undefined))
  assert.equal(await kms.call('crypto.keys.destroy', { path: { kid: 'a/b?c' } }), undefined)
  assert.deepEqual(
    service.received.map(({ method, target, body }) => [method, target, body]),
    [
      ['POST', '/v1/crypto/sign', JSON.stringify(body)],
      ['GET', '/access/owned?after=a%26b&limit=5', ''],
      ['GET', '/access/owned', ''],
      ['DELETE', '/v1/crypto/keys/a%2Fb%3Fc', ''],
    ],
  )
})

test('a page contains the cursor of the next one, also when it is empty', async () => {
  using kms = client()
  service.answer(json(200, [], { 'x-next-after': 'a%2Fb%C3%A9' }))
  assert.deepEqual(await kms.page('access.obtained', { query: { limit: '5' } }), { rows: [], next: 'a/bé' })
  service.answer(json(200, []))
  assert.deepEqual(await kms.page('access.obtained'), { rows: [], next: undefined })
  service.answer(json(403, { error: 'forbidden', description: 'No.' }))
  assert.equal((await catchError(kms.page('access.obtained'))).kind, 'forbidden')
})

test('an id cannot change the path of a request', async () => {
  using kms = client()
  for (const kid of ['', '.', '..']) {
    await assert.rejects(kms.call('crypto.keys.get', { path: { kid } }), TypeError)
  }
  assert.equal(service.received.length, 0)
})

test('sequential calls share one connection', async () => {
  using kms = client()
  service.answer(json(200, 'v'))
  const before = service.connections()
  for (let index = 0; index < 5; index += 1) await kms.call('version')
  assert.equal(service.connections() - before, 1)
})

test('each kind of credential is sent as the service expects it, and never disclosed', async () => {
  service.answer(json(200, { user: 'carol' }))
  using bearer = client({ credentials: { bearer: 'secret.token' } })
  await bearer.call('server.me')
  assert.equal(service.received[0]?.headers.authorization, 'Bearer secret.token')
  assert.ok(!inspect(bearer, { depth: 9, showHidden: true }).includes('secret.token'))
  using machine = client({ credentials: { secretToken: 'wt.abc' } })
  await machine.call('server.me')
  assert.equal(service.received[0]?.headers['x-secret-token'], 'wt.abc')
  assert.equal(service.received[0]?.headers.authorization, undefined)
  using certified = client({ credentials: { certificate: service.client } })
  await certified.call('server.me')
  assert.equal(service.received[0]?.certificate, 'carol')
})

test('a token that is invalid in a header is refused, and the error does not contain it', () => {
  for (const bearer of ['a\r\nx: y', 'a b', '', 'é']) {
    assert.throws(
      () => client({ credentials: { bearer } }),
      (error: Error) => error instanceof TypeError && (bearer === '' || !error.message.includes(bearer)),
    )
  }
})

test('an error has kind, status, description, request id and retry time', async () => {
  using kms = client({ retries: 0 })
  service.answer(
    json(
      429,
      { error: 'rate_limited', description: 'Too many requests: wait and try again.' },
      { 'retry-after': '7', 'x-request-id': 'r-1' },
    ),
  )
  const { kind, status, description, requestId, retryAfter } = await catchError(kms.call('server.me'))
  assert.deepEqual(
    { kind, status, description, requestId, retryAfter },
    {
      kind: 'rate_limited',
      status: 429,
      description: 'Too many requests: wait and try again.',
      requestId: 'r-1',
      retryAfter: 7,
    },
  )
})

test('an error names the approval that the operation needs', async () => {
  using kms = client({ retries: 0 })
  const refusal = { error: 'forbidden', description: 'This requires the approval of 2 crypto officers.' }
  for (const approval of ['destroy', undefined]) {
    service.answer(json(403, { ...refusal, approval }))
    const error = await catchError(kms.call('crypto.keys.destroy', { path: { kid: 'k' } }))
    assert.equal(error.approval, approval)
  }
})

test('an answer that is not from the service is reported as unexpected', async () => {
  using kms = client({ maxAnswerBytes: 1000, retries: 0 })
  service.answer((response) => response.end('<html>'))
  assert.equal((await catchError(kms.call('version'))).kind, 'unexpected_reply')
  service.answer(json(502, 'bad gateway'))
  const gateway = await catchError(kms.call('version'))
  assert.deepEqual([gateway.kind, gateway.status], ['unexpected_reply', 502])
  service.answer(json(307, undefined, { location: 'https://elsewhere.example/' }))
  assert.equal((await catchError(kms.call('version'))).status, 307)
  service.answer(json(200, 'x'.repeat(2000)))
  assert.match((await catchError(kms.call('version'))).description, /more than 1000 bytes/)
  service.answer((response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('"half')
    response.socket?.destroy()
  })
  assert.equal((await catchError(kms.call('version'))).kind, 'unreachable')
})

test('calls to a busy service are retried after its Retry-After, a limited number of times', async () => {
  using kms = client({ retries: 2 })
  service.answer(busy('3'), busy(), json(200, 'v'))
  assert.equal(await kms.call('version'), 'v')
  assert.deepEqual(waited, [3, 1])
  service.answer(busy('1'))
  service.received.length = 0
  assert.equal((await catchError(kms.call('version'))).kind, 'overloaded')
  assert.equal(service.received.length, 3)
})

test('a Retry-After above the limit is an error', async () => {
  using kms = client({ maxWaitSeconds: 5 })
  service.answer(busy('6'))
  assert.equal((await catchError(kms.call('version'))).retryAfter, 6)
  assert.deepEqual([waited, service.received.length], [[], 1])
})

test('only idempotent operations are retried', async () => {
  using kms = client()
  service.answer(busy('1'))
  const sent = async (call: Promise<unknown>): Promise<number> => {
    service.received.length = 0
    await catchError(call)
    return service.received.length
  }
  const data = 'aGk'
  assert.equal(await sent(kms.call('crypto.keys.create', { body: { kty: 'oct', alg: 'A256GCM' } })), 1)
  assert.equal(await sent(kms.call('crypto.sign', { body: { kid: 'k', alg: 'ES256', data } })), 1)
  assert.equal(
    await sent(kms.call('access.grant', { body: { user_id: 'bob', operation_types: ['get'] } })),
    1,
  )
  assert.equal(await sent(kms.call('crypto.mac', { body: { kid: 'k', alg: 'HS256', data } })), 4)
  assert.equal(await sent(kms.call('crypto.keys.destroy', { path: { kid: 'k' } })), 4)
  service.answer(json(500, { error: 'internal_error', description: 'An internal error occurred.' }))
  assert.equal(await sent(kms.call('version')), 1)
})

test('a silent service and a slow answer time out', async () => {
  using kms = client({ timeoutMs: 60 })
  service.answer(() => undefined)
  assert.equal((await catchError(kms.call('version'))).kind, 'timeout')
  service.answer((response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write(' '), 5)
    response.on('close', () => clearInterval(drip))
  })
  assert.equal((await catchError(kms.call('version'))).kind, 'timeout')
})

test('a service whose certificate is not from the authority receives no data', async () => {
  using kms = client({ ca: service.client.cert, credentials: { bearer: 'token' } })
  assert.equal((await catchError(kms.call('version'))).kind, 'unreachable')
  assert.equal(service.received.length, 0)
})

test('addresses without TLS, or with credentials, query or fragment, are refused', () => {
  for (const url of [
    'http://127.0.0.1:1',
    'https://u:p@127.0.0.1',
    'https://h/?q',
    'https://h/#f',
    'kms',
    '',
  ]) {
    assert.throws(() => kmsClient({ url }), TypeError)
  }
})

test('NODE_TLS_REJECT_UNAUTHORIZED=0, meant for another program, does not make the client trust another server', async (t) => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  })
  service.received.length = 0
  const kms = kmsClient({ url: service.url, credentials: { bearer: 'secret' } })
  try {
    assert.match((await catchError(kms.call('access.owned'))).message, /self-signed|unable to (get|verify)/)
    assert.equal(service.received.length, 0)
  } finally {
    kms.close()
  }
})
