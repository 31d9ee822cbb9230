import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import Type from 'typebox'
import { parse } from 'yaml'
import { defineOperation, get, methods, post } from './define.ts'
import { type Json, openApiDocument, toYaml } from './openapi.ts'
import { accessTable } from './testing/access-table.ts'
import { findProblems } from './testing/openapi-structure.ts'

const define = defineOperation<never>()
const Kid = Type.Object({ kid: Type.String({ description: 'id: "quoted"' }) })
const operations = [
  define({
    name: 'keys.get',
    route: get('/keys/{kid}'),
    summary: 'One key',
    tag: 'Keys',
    access: { name: 'key right: get' },
    reach: [],
    pathParameters: Kid,
    queryParameters: Type.Object({ full: Type.Optional(Type.String()), as: Type.String() }),
    reply: Kid,
    errors: { 404: 'No such key.', 418: 'Teapot.' },
    act: ({ path }) => path,
  }),
  define({
    name: 'keys.put',
    route: methods(['PUT', 'POST'], '/keys'),
    summary: 'Creates',
    tag: 'Keys',
    access: { name: 'anyone', public: true },
    reach: [],
    request: Type.Object({ alg: Type.Union([Type.Literal('a'), Type.Null()]) }),
    status: 204,
    act: ({ body }) => body,
  }),
  define({
    name: 'files',
    route: post('/files/{rest*}'),
    summary: 'Tail',
    tag: 'Files',
    access: { name: 'signed in' },
    reach: [],
    act: () => undefined,
  }),
]
const document = openApiDocument({
  title: 'Test',
  version: '1',
  serverUrl: 'https://127.0.0.1:1',
  operations,
  credentials: { schemes: { bearer: { type: 'http', scheme: 'bearer' } }, service: ['bearer'] },
})

test('the document is structurally valid OpenAPI 3.1', () => {
  assert.deepEqual(findProblems(document), [])
})

test('the structural check finds a dangling reference, a repeated operationId and an undeclared parameter', () => {
  const broken = (change: (text: string) => string): Json => JSON.parse(change(JSON.stringify(document)))
  assert.match(
    findProblems(broken((text) => text.replaceAll('schemas/Error', 'schemas/Err'))).join(),
    /dangling/,
  )
  assert.match(
    findProblems(broken((text) => text.replace('keys.put.post', 'keys.put'))).join(),
    /operationId/,
  )
  assert.match(
    findProblems(broken((text) => text.replace('"name":"kid"', '"name":"kip"'))).join(),
    /parameter/,
  )
  assert.match(
    findProblems(broken((text) => text.replace('"type":"string"', '"type":"text"'))).join(),
    /type/,
  )
})

test('every operation is there with its statuses, and only guarded ones ask for credentials', () => {
  const paths = (document as unknown as { paths: Record<string, Record<string, Record<string, object>>> })
    .paths
  const read = paths['/keys/{kid}']?.get
  assert.deepEqual(Object.keys(read?.responses ?? {}), [
    '200',
    '400',
    '401',
    '403',
    '404',
    '418',
    '429',
    '500',
    '503',
  ])
  assert.deepEqual(read?.security, [{ bearer: [] }])
  assert.deepEqual(paths['/keys']?.put?.security, [])
  assert.deepEqual(Object.keys(paths), ['/keys/{kid}', '/keys', '/files/{rest}'])
})

test('a row with its own credentials and error shape is documented with them', () => {
  const row = define({
    name: 'foreign',
    route: get('/foreign'),
    summary: 'Another interface',
    tag: 'Files',
    access: { name: 'signed in' },
    reach: [],
    authenticate: () => undefined,
    security: ['signature'],
    errorShape: {
      documented: { contentType: 'application/xml' },
      reply: ({ message }) => ({ raw: message, contentType: 'application/xml' }),
    },
    act: () => undefined,
  })
  const signature = { type: 'apiKey', in: 'header', name: 'X-Signature' }
  const bearer = { type: 'http', scheme: 'bearer' }
  const credentials = { schemes: { bearer, signature }, service: ['bearer'] }
  const own = openApiDocument({
    title: 'T',
    version: '1',
    serverUrl: '/',
    operations: [row],
    credentials,
  })
  assert.deepEqual(findProblems(own), [])
  const text = JSON.stringify(own.paths)
  assert.match(text, /"security":\[\{"signature":\[\]\}\]/)
  assert.deepEqual(own.components, { ...(own.components as object), securitySchemes: { signature } })
  const unknown = { ...row, security: ['another'] }
  const wrong = { title: 'T', version: '1', serverUrl: '/', operations: [unknown], credentials }
  assert.throws(() => openApiDocument(wrong), /foreign uses another, which is not a security scheme/)
  assert.match(text, /"401":\{[^{}]*"content":\{"application\/xml":\{\}\}/)
})

test('the authorization matrix is read off the table', () => {
  assert.deepEqual(accessTable(operations)[3], {
    operation: 'keys.get',
    method: 'GET',
    path: '/keys/{kid}',
    access: 'key right: get',
    public: false,
  })
})

test('text that readers of YAML 1.1 or 1.2 take for another value is quoted', async () => {
  const yaml = await toYaml({ a: 'yes', b: { no: 'no', c: '1', d: [null, {}, []] } })
  assert.equal(yaml, 'a: "yes"\n"b":\n  "no": "no"\n  c: "1"\n  d:\n    - null\n    - {}\n    - []\n')
})

test('a parser reads the written document as the same value', async () => {
  const text = fc.string({ unit: 'binary' })
  const value = fc
    .jsonValue({ maxDepth: 3, stringUnit: 'binary' })
    .map((json): Json => JSON.parse(JSON.stringify(json)))
  const documents = fc.dictionary(text, fc.oneof(value, fc.dictionary(text, value)), { minKeys: 1 })
  await fc.assert(
    fc.asyncProperty(documents, async (document) => {
      const written = parse(await toYaml(document))
      assert.deepEqual(written, JSON.parse(JSON.stringify(document)))
    }),
  )
})
