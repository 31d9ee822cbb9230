import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure } from '@warder/base'
import Type from 'typebox'
import { defineOperation, get, post } from '../operations/define.ts'
import type { ErrorShape } from '../operations/types.ts'
import { live } from './fixtures/live.ts'
import { errorBody, rawReply } from './reply.ts'

const define = defineOperation<{ readonly greeting: string }>()
const services = { greeting: 'hello' }
const anyone = { name: 'public', public: true } as const
const signedIn = { name: 'signed in' } as const

const echo = define({
  name: 'test.echo',
  route: post('/echo'),
  summary: 'Says it again',
  tag: 'test',
  access: signedIn,
  reach: [],
  request: Type.Object({ kid: Type.String() }),
  act: ({ body }, { services, principal }) => ({ said: body.kid, by: principal?.name, ...services }),
})

const item = define({
  name: 'test.item',
  route: get('/items/{id}'),
  summary: 'One item',
  tag: 'test',
  access: anyone,
  reach: [],
  pathParameters: Type.Object({ id: Type.String() }),
  act: ({ path }) => ({ id: path.id }),
})

const options = {
  services,
  operations: [echo, item],
  authenticate: (request: { readonly headers: Readonly<Record<string, string | undefined>> }) =>
    request.headers.authorization === 'Bearer ok' ? { name: 'alice', method: 'jwt' } : undefined,
}
const bearer = { authorization: 'Bearer ok' }

test('an operation answers JSON with every header that all responses carry', async () => {
  await using server = await live(options)
  const answer = await server.call('POST', '/echo', { headers: bearer, json: { kid: 'k1' } })
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.json, { said: 'k1', by: 'alice', greeting: 'hello' })
  assert.equal(answer.headers['x-frame-options'], 'DENY')
  assert.equal(answer.headers['content-security-policy'], "frame-ancestors 'none'")
  assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  assert.match(String(answer.headers['strict-transport-security']), /^max-age=\d+/)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.match(String(answer.headers['x-request-id']), /^[0-9a-f-]{36}$/)
})

test('a caller without credentials gets 401 before anything is said about the body', async () => {
  await using server = await live(options)
  const answer = await server.call('POST', '/echo', { json: { kid: 1 } })
  assert.equal(answer.status, 401)
  assert.equal(answer.json.error, 'unauthorized')
  assert.equal(answer.headers['www-authenticate'], 'Bearer')
})

test('a wrong body names the member and what it must be, never its value', async () => {
  await using server = await live(options)
  const wrong = await server.call('POST', '/echo', { headers: bearer, json: { kid: 4711 } })
  assert.equal(wrong.status, 400)
  assert.deepEqual(wrong.json, {
    error: 'bad_request',
    description: 'Invalid request body: kid: must be a string.',
  })
  const missing = await server.call('POST', '/echo', { headers: bearer, json: {} })
  assert.equal(missing.json.description, 'Invalid request body: kid: is required.')
  const empty = await server.call('POST', '/echo', { headers: bearer })
  assert.match(empty.json.description, /^Invalid request body: it is empty/)
})

test('a query parameter that the operation does not declare is refused with the name that was probably meant', async () => {
  const query = define({
    ...item,
    name: 'test.query',
    route: get('/query'),
    pathParameters: Type.Object({}),
    queryParameters: Type.Object({ realm: Type.Optional(Type.String()), list: Type.Optional(Type.String()) }),
    act: ({ query }) => query,
  })
  const foreignParameters = { names: ['op'], because: 'Clients of another product send it.' }
  const tolerant = define({ ...query, name: 'test.tolerant', route: get('/tolerant'), foreignParameters })
  await using server = await live({ ...options, operations: [...options.operations, query, tolerant] })
  const ask = async (path: string) => {
    const { status, json } = await server.call('GET', path)
    return [status, json.description ?? json]
  }
  assert.deepEqual(await ask('/query?realm=a'), [200, { realm: 'a' }])
  for (const name of ['relm', 'Realm', 'constructor', '__proto__', '']) {
    const [status, description] = await ask(`/query?list=a&${name}=1`)
    assert.equal(status, 400, name)
    assert.match(description, /^Invalid query parameter: .*is not a known parameter/, name)
  }
  assert.deepEqual(await ask('/query?relm=secret'), [
    400,
    'Invalid query parameter: relm: is not a known parameter; did you mean realm?.',
  ])
  assert.deepEqual(await ask('/items/1?full=1'), [
    400,
    'Invalid query parameter: full: is not a known parameter; no parameters are allowed here.',
  ])
  assert.deepEqual(await ask('/tolerant?op=1&realm=a'), [200, { op: '1', realm: 'a' }])
  assert.equal((await ask('/tolerant?opp=1'))[0], 400)
  const unknown = await server.call('POST', '/echo?x=1', { json: { kid: 'a' } })
  assert.equal(unknown.status, 401, 'authentication comes first')
})

test('bodies of other content types are refused', async () => {
  await using server = await live(options)
  const type = (value: string) =>
    server.call('POST', '/echo', { headers: { ...bearer, 'content-type': value }, body: '{"kid":"a"}' })
  assert.equal((await type('text/plain')).status, 415)
  assert.equal((await type('application/json; charset=latin1')).status, 415)
  assert.equal((await type('application/json; charset=utf-8')).status, 200)
  assert.equal((await type('application/jose+json')).status, 200)
  assert.equal((await server.call('POST', '/echo', { headers: bearer, body: '{"kid":"a"}' })).status, 400)
})

test('unknown paths are 404, known paths with another method 405 with Allow', async () => {
  await using server = await live(options)
  for (const path of ['/nothing', '/items/1/', '/items', '/items/']) {
    const answer = await server.call('GET', path)
    assert.equal(answer.status, 404, path)
    assert.equal(answer.headers['x-frame-options'], 'DENY')
  }
  const answer = await server.call('DELETE', '/items/1')
  assert.equal(answer.status, 405)
  assert.equal(answer.headers.allow, 'GET, HEAD')
})

test('a path parameter is decoded once and an encoded slash stays data', async () => {
  await using server = await live(options)
  assert.equal((await server.call('GET', '/items/a%2Fb')).json.id, 'a/b')
  assert.equal((await server.call('GET', '/items/%252e')).json.id, '%2e')
  assert.equal((await server.call('GET', '/items/..')).json.id, '..')
  assert.equal((await server.call('GET', '/items/%zz')).status, 400)
  assert.equal((await server.call('GET', '/items/%00')).status, 400)
})

test('HEAD is answered where GET is, without a body', async () => {
  await using server = await live(options)
  const answer = await server.call('HEAD', '/items/1')
  assert.equal(answer.status, 200)
  assert.equal(answer.text, '')
})

test('what a handler throws is told by its kind; anything else is one fixed sentence with the request id', async () => {
  const bad = (name: string, thrown: unknown, errorShape?: ErrorShape) =>
    define({
      name,
      route: get(`/${name}`),
      summary: name,
      tag: 'test',
      access: anyone,
      reach: [],
      ...(errorShape && { errorShape }),
      act() {
        throw thrown
      },
    })
  const withList: ErrorShape = {
    reply: (failure, { id }) => ({ json: { ...errorBody(failure, id), errors: [failure.message] } }),
  }
  await using server = await live({
    services,
    operations: [
      bad('secret', new Error('password hunter2')),
      bad('conflict', failure('conflict', 'Taken.', { detail: 'row 7' }), withList),
      bad('busy', failure('overloaded', 'queue', { retryAfterSeconds: 2.2 })),
    ],
  })
  const secret = await server.call('GET', '/secret')
  assert.equal(secret.status, 500)
  assert.deepEqual(secret.json, {
    error: 'internal_error',
    description: 'An internal error occurred.',
    request_id: secret.headers['x-request-id'],
  })
  // Below its path too, and for other methods; not where another shape is at home.
  const below = await server.call('GET', '/conflict/nothing%20here')
  assert.equal(below.status, 404)
  assert.deepEqual(below.json.errors, [below.json.description])
  assert.equal((await server.call('POST', '/conflict')).json.errors.length, 1)
  assert.equal((await server.call('GET', '/busy/nothing')).json.errors, undefined)
  assert.equal((await server.call('GET', '/nothing')).json.errors, undefined)
  const conflict = await server.call('GET', '/conflict')
  assert.deepEqual(conflict.json, { error: 'conflict', description: 'Taken.', errors: ['Taken.'] })
  assert.equal((await server.call('GET', '/busy')).headers['retry-after'], '3')
})

test('a raw reply has its own status, headers and bytes; a look-alike object is only JSON', async () => {
  const answerWith = (name: string, result: unknown) =>
    define({
      reach: [],
      name,
      route: get(`/${name}`),
      summary: name,
      tag: 'test',
      access: anyone,
      act: () => result,
    })
  await using server = await live({
    services,
    operations: [
      answerWith('redirect', rawReply({ status: 302, headers: { Location: 'https://idp.example/' } })),
      answerWith('cookies', rawReply({ json: { a: 1 }, headers: { 'Set-Cookie': ['a=1', 'b=2'] } })),
      answerWith(
        'page',
        rawReply({
          raw: '<p>',
          contentType: 'text/html',
          headers: { 'Content-Security-Policy': "default-src 'none'" },
        }),
      ),
      answerWith('fake', { status: 302, raw: 'x', headers: { Location: 'https://evil.example/' } }),
      answerWith('injected', rawReply({ json: {}, headers: { 'X-Name': 'a\r\nSet-Cookie: evil=1' } })),
    ],
  })
  const redirect = await server.call('GET', '/redirect')
  assert.equal(redirect.status, 302)
  assert.equal(redirect.headers.location, 'https://idp.example/')
  assert.deepEqual((await server.call('GET', '/cookies')).headers['set-cookie'], ['a=1', 'b=2'])
  const page = await server.call('GET', '/page')
  assert.equal(page.headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'")
  const fake = await server.call('GET', '/fake')
  assert.equal(fake.status, 200)
  assert.equal(fake.headers.location, undefined)
  const injected = await server.call('GET', '/injected')
  assert.equal(injected.status, 500)
  assert.equal(injected.headers['set-cookie'], undefined)
})
