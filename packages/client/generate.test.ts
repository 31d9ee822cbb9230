import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { clientTypes } from './generate.ts'
import { comment, formatType, type Json, memberName, quote } from './schema-type.ts'

test('each form of schema becomes the type that it describes', () => {
  const cases: readonly (readonly [Json, string])[] = [
    [{ type: 'string', maxLength: 3, description: 'x' }, 'string'],
    [{ type: 'integer', minimum: 1 }, 'number'],
    [{}, 'unknown'],
    [{ type: 'string', const: "it's" }, "'it\\'s'"],
    [{ enum: ['a', 'b'] }, "'a' | 'b'"],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
    [{ type: 'array', items: { type: 'string' } }, 'readonly string[]'],
    [{ type: 'array', items: { enum: ['a', 1] } }, "readonly ('a' | 1)[]"],
    [
      {
        allOf: [{ type: 'object', properties: { a: {} } }, { anyOf: [{ type: 'null' }, { type: 'string' }] }],
      },
      '{\n  readonly a?: unknown\n} & (null | string)',
    ],
    [{ type: 'array', items: { type: 'array', items: {} } }, 'readonly (readonly unknown[])[]'],
    [
      { type: 'object', patternProperties: { '^.*$': { type: 'string' } } },
      'Readonly<Record<string, string>>',
    ],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Readonly<Record<string, number>>'],
    [{ $ref: '#/components/schemas/Error' }, 'ErrorSchema'],
    [
      { type: 'object', required: ['a'], properties: { a: { type: 'null' }, 'b-c': { type: 'boolean' } } },
      "{\n  readonly a: null\n  readonly 'b-c'?: boolean\n}",
    ],
  ]
  for (const [schema, type] of cases) assert.equal(formatType(schema), type)
})

test('a schema that cannot be expressed is an error, not a wrong type', () => {
  const deep = Array.from({ length: 40 }).reduce<Json>((items) => ({ type: 'array', items }), {})
  for (const schema of [{ type: 'file' }, { not: {} }, { $ref: 'https://elsewhere.example/' }, deep]) {
    assert.throws(() => formatType(schema))
  }
  for (const document of [{}, { openapi: '3.0.0' }, { openapi: '3.1.0', paths: { '/a': { get: {} } } }]) {
    assert.throws(() => clientTypes(document, 'service'))
  }
})

test('operations that answer with HTML are omitted, JSON suffixes and empty replies are kept', () => {
  const answer = (type: string): Json => ({ 200: { content: { [type]: { schema: { type: 'string' } } } } })
  const document = {
    openapi: '3.1.0',
    paths: {
      '/a': { get: { operationId: 'a', responses: answer('application/jwk-set+json') } },
      '/b': { get: { operationId: 'b', responses: answer('text/html') } },
      '/c': { delete: { operationId: 'c', responses: { 204: { description: 'Done.' } } } },
    },
  }
  const text = clientTypes(document, 'service of the test')
  assert.match(text, /^\/\/ Generated from the OpenAPI document of the service of the test: /)
  assert.match(text, /^ {2}a: \{ method: 'GET', path: '\/a' \},$/m)
  assert.match(text, /^ {2}readonly c: \{\n {4}readonly reply: undefined\n/m)
  assert.doesNotMatch(text, /\/b/)
})

test('texts of the document never become code: names stay literals, descriptions stay comments', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const name = memberName(text)
      assert.equal(name === text ? text : runInNewContext(quote(text)), text)
      assert.ok(!comment(text, '').slice(0, -3).includes('*/'))
      assert.ok(comment(text, '').split('\n').length <= 2)
    }),
  )
})
