import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseStrictObject } from './json.ts'

const parse = (text: string) => parseStrictObject(Buffer.from(text))

test('an object of plain JSON is read as JSON.parse reads it', () => {
  const name = fc.stringMatching(/^[a-z:{}[\],]{0,6}$/)
  const value = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean())
  fc.assert(
    fc.property(
      fc.dictionary(name, fc.oneof(value, fc.array(value), fc.dictionary(name, value))),
      (object) => {
        const text = JSON.stringify(object)
        assert.deepEqual(parse(text), JSON.parse(text))
      },
    ),
  )
})

test('what is not an object is not read', () => {
  for (const text of ['', 'null', '1', '"x"', '[]', '[{}]', '{} {}', '{"a":1,}', "{'a':1}", '\ufeff{}'])
    assert.equal(parse(text), undefined, text)
  assert.equal(parseStrictObject(Uint8Array.of(0x7b, 0xff, 0x7d)), undefined)
})

test('a member that appears twice is refused at any depth, in any spelling', () => {
  for (const text of [
    '{"iss":"a","iss":"b"}',
    '{"a":{"b":1,"b":1}}',
    '{"a":[{"b":1,"b":2}]}',
    '{"iss":"a","\\u0069ss":"b"}',
    '{"__proto__":{"admin":true}}',
    '{"a":{"__proto__":1}}',
  ]) {
    assert.equal(parse(text), undefined, text)
  }
})

test('a member name written with an escape is refused, a value is not', () => {
  for (const text of ['{"\\u0061lg":"x"}', '{"\\"":1}', '{"a\\\\":1}', '{"a":{"\\/":1}}', '{"a\\"" : 1}'])
    assert.equal(parse(text), undefined, text)
  assert.deepEqual(parse('{"a":"\\u0061\\"\\\\:","b":["\\/"]}'), { a: 'a"\\:', b: ['/'] })
})

test('nesting is bounded, and a very deep text costs nothing', () => {
  const formatNested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  assert.ok(parse(formatNested(16)))
  assert.equal(parse(formatNested(17)), undefined)
  assert.equal(parse(`{"a":${'['.repeat(1_000_000)}`), undefined)
})
