import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { failure } from '@warder/base'
import Type from 'typebox'
import { defineOperation, get, post } from '../operations/define.ts'
import type { AuthenticationContext, ErrorShape } from '../operations/types.ts'
import { live, testAudit } from './fixtures/live.ts'
import { createTokenBuckets } from './token-buckets.ts'

/** A toy of another product's interface: requests are signed over the body, failures are told in XML. */
interface Services {
  readonly keys: Readonly<Record<string, string>>
}
const services: Services = { keys: { K1: 'key of alice' } }
const define = defineOperation<Services>()

const xml: ErrorShape = {
  documented: { contentType: 'application/xml' },
  reply({ kind, message, status }, { id }) {
    return {
      // The interface knows no 401.
      status: status === 401 ? 400 : status,
      raw: `<Error><Code>${kind}</Code><Message>${message}</Message><RequestId>${id}</RequestId></Error>`,
      contentType: 'application/xml',
      headers: { 'X-Error-Code': kind },
    }
  },
}

const sign = (key: string, body: string | Uint8Array): string =>
  createHmac('sha256', key).update(body).digest('hex')

function signer({ request, services, audit }: AuthenticationContext<Services>) {
  const [id = '', signature] = request.headers['x-signature']?.split(':') ?? []
  const key = Object.hasOwn(services.keys, id) ? services.keys[id] : undefined
  audit({ details: { key_id: id } })
  if (key === undefined) return undefined
  if (sign(key, request.body) !== signature) throw failure('forbidden', 'The signature does not match.')
  return { name: 'alice', method: 'signature' }
}

const toy = { tag: 'toy', errorShape: xml, authenticate: signer, bodyLimit: 1024 } as const
const access = { name: 'signed in' }
const put = define({
  ...toy,
  name: 'toy.put',
  route: post('/toy/v1/items/{id}'),
  summary: 'Put',
  access,
  reach: [],
  request: Type.Object({ fail: Type.Optional(Type.Boolean()) }),
  act({ body }, { principal }) {
    if (body.fail === true) throw failure('conflict', 'Taken.', { detail: 'row 7' })
    return { name: principal?.name }
  },
})
const usual = define({
  name: 'usual',
  route: get('/usual'),
  summary: 'Usual',
  tag: 'usual',
  access,
  reach: [],
  act: (_input, { principal }) => ({ name: principal?.name }),
})
const bob = { name: 'bob', method: 'session' }
const options = { services, operations: [put, usual], authenticate: () => bob }

const signBody = (body: string) => ({
  body,
  headers: { 'content-type': 'application/json', 'x-signature': `K1:${sign('key of alice', body)}` },
})

test('an operation asks its own authenticator, and others that of the service', async () => {
  const audit = testAudit('continue')
  await using server = await live({ ...options, audit })
  assert.deepEqual((await server.call('POST', '/toy/v1/items/1', signBody('{}'))).json, { name: 'alice' })
  assert.deepEqual((await server.call('GET', '/usual')).json, { name: 'bob' })
  const told = audit.events.map(({ principal, auth_method, details }) => [principal, auth_method, details])
  assert.deepEqual(told, [
    ['alice', 'signature', { key_id: 'K1' }],
    ['bob', 'session', undefined],
  ])
})

test('failures before, in and beside an operation have its shape', async () => {
  const audit = testAudit('continue')
  await using server = await live({ ...options, audit })
  const path = '/toy/v1/items/1'
  const cases = [
    ['nobody', 'POST', path, { json: {} }, 400, 'unauthorized'],
    ['wrong signature', 'POST', path, { ...signBody('{}'), body: '{ }' }, 403, 'forbidden'],
    ['large body', 'POST', path, { body: 'x'.repeat(2000) }, 413, 'payload_too_large'],
    [
      'content type',
      'POST',
      path,
      { ...signBody('{}'), headers: { ...signBody('{}').headers, 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    ['schema', 'POST', path, signBody('{"fail":1}'), 400, 'bad_request'],
    ['handler', 'POST', path, signBody('{"fail":true}'), 409, 'conflict'],
    ['method', 'DELETE', path, {}, 405, 'method_not_allowed'],
    ['below', 'GET', `${path}/nothing`, {}, 404, 'not_found'],
    ['beginning', 'GET', '/toy/v2', {}, 404, 'not_found'],
    ['parameter', 'POST', '/toy/v1/items/%zz', {}, 400, 'bad_request'],
    [
      'page of another origin',
      'POST',
      path,
      { headers: { origin: 'https://evil.example' } },
      403,
      'forbidden',
    ],
  ] as const
  for (const [name, method, at, call, status, kind] of cases) {
    const answer = await server.call(method, at, call)
    assert.equal(answer.status, status, name)
    assert.equal(answer.headers['content-type'], 'application/xml', name)
    assert.equal(answer.headers['x-error-code'], kind, name)
    assert.match(
      answer.text,
      new RegExp(`^<Error><Code>${kind}</Code>.*<RequestId>${answer.headers['x-request-id']}<`),
    )
    assert.doesNotMatch(answer.text, /row 7/)
  }
  assert.equal(audit.events.length, cases.length)
  assert.ok(audit.events.every(({ outcome }) => outcome === 'failure'))
  assert.equal((await server.call('DELETE', path)).headers.allow, 'POST')
  for (const other of ['/', '/nothing', '/usual/nothing']) {
    assert.equal((await server.call('GET', other)).json.error, 'not_found', other)
  }
})

test('a request over the rate limit is told so in the shape of its path, with the time to wait', async () => {
  const clock = { now: () => 0, monotonic: () => 0 }
  const rateLimiter = createTokenBuckets({ ratePerSecond: 1, burst: 1, slots: 16, clock })
  await using server = await live({ ...options, rateLimiter })
  while ((await server.call('GET', '/usual')).status === 200);
  const answer = await server.call('POST', '/toy/v1/items/1', signBody('{}'))
  assert.equal(answer.status, 429)
  assert.equal(answer.headers['x-error-code'], 'rate_limited')
  assert.equal(answer.headers['retry-after'], '1')
})

test('a shape that throws, or tells a failure as a success, gives way to the usual one', async () => {
  const broken = (name: string, reply: ErrorShape['reply']) =>
    define({ ...usual, name, route: get(`/${name}`), errorShape: { reply }, authenticate: () => undefined })
  await using server = await live({
    ...options,
    operations: [
      broken('throws', () => {
        throw new Error('no template')
      }),
      broken('succeeds', () => ({ status: 200, raw: 'fine' })),
    ],
  })
  for (const path of ['/throws', '/succeeds']) {
    const answer = await server.call('GET', path)
    assert.equal(answer.status, 401, path)
    assert.equal(answer.json.error, 'unauthorized', path)
    assert.equal(answer.headers['www-authenticate'], 'Bearer', path)
  }
})

test('interfaces may share the beginning of their paths; the longest known one decides', async () => {
  const at = (path: string, errorShape?: ErrorShape) =>
    define({ ...usual, name: path, route: get(path), ...(errorShape && { errorShape }) })
  await using server = await live({
    ...options,
    operations: [
      ...[at('/v1/projects/{project}/keys', xml), at('/v1/keys/{kid}'), { ...put, route: post('/') }],
      ...[at('/v2/items', { ...xml, addsToDefault: true }), at('/v2/keys')],
    ],
  })
  const readShape = async (method: string, path: string) =>
    (await server.call(method, path)).headers['content-type']
  assert.equal(await readShape('GET', '/v1/projects/p/nothing'), 'application/xml')
  assert.equal(await readShape('GET', '/v1/keys/k/nothing'), 'application/json')
  assert.equal(await readShape('GET', '/v1/nothing'), 'application/json')
  assert.equal(await readShape('GET', '/v2/nothing'), 'application/xml')
  assert.equal(await readShape('GET', '/v2/keys/nothing'), 'application/json')
  assert.equal(await readShape('GET', '/'), 'application/xml')
  assert.equal(await readShape('GET', '/nothing'), 'application/json')
})
