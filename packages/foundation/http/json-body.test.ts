import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxJsonValues, parseJsonBody } from './json-body.ts'

const parse = (text: string) => parseJsonBody(Buffer.from(text, 'utf8'))
const refused = (text: string | Uint8Array, why: RegExp) =>
  assert.throws(
    () => parseJsonBody(typeof text === 'string' ? Buffer.from(text) : text),
    (thrown: Error) => {
      assert.match(thrown.message, /^Invalid request body: /)
      assert.match(thrown.message, why)
      return true
    },
  )

test('any JSON value is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'medium' }), (value) => {
      const text = JSON.stringify(value)
      if (text.includes('__proto__') || !text.isWellFormed() || /\\ud[89a-f]/i.test(text)) return
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
  )
})

test('a text is refused exactly when one of its objects has a member twice', () => {
  // A small alphabet makes repeated names likely; names hold what could fool a scan.
  const name = fc.constantFrom('a', 'b', '"', '\\', ':', '{', 'x'.repeat(60), `${'\\'.repeat(50)}"`)
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(1, null, 'a:b', '"}{', '\\', `${'"'.repeat(70)}:`),
      fc.array(tie('tree'), { maxLength: 3 }).map((items) => ({ items })),
      fc.array(fc.tuple(name, tie('tree')), { maxLength: 3 }).map((members) => ({ members })),
    ),
  }))
  const write = (value: unknown): { text: string; twice: boolean } => {
    if (typeof value !== 'object' || value === null) return { text: JSON.stringify(value), twice: false }
    if ('items' in value) {
      const items = (value.items as unknown[]).map(write)
      return { text: `[${items.map((item) => item.text)}]`, twice: items.some((item) => item.twice) }
    }
    const members = (value as { members: [string, unknown][] }).members.map(([key, item]) => ({
      key,
      ...write(item),
    }))
    const keys = members.map((member) => member.key)
    return {
      text: `{${members.map((member) => `${JSON.stringify(member.key)} : ${member.text}`)}}`,
      twice: new Set(keys).size < keys.length || members.some((member) => member.twice),
    }
  }
  fc.assert(
    fc.property(tree, (value) => {
      const { text, twice } = write(value)
      if (twice) refused(text, /appears twice/)
      else if (!text.includes('\\')) assert.deepEqual(parse(text), JSON.parse(text))
    }),
    { numRuns: 500 },
  )
})

test('the same member in two spellings is still the same member', () => {
  refused('{"a":1,"\\u0061":2}', /appears twice/)
})

test('hostile texts are refused without repeating them', () => {
  refused('{"__proto__":{"admin":true}}', /__proto__/)
  refused('{"\\u005f_proto__":1}', /__proto__/)
  refused(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), /UTF-8/)
  refused('\ufeff{}', /not valid JSON/)
  refused('{"secret":"hunter2"', /: it is not valid JSON\.$/)
  refused('"\\ud800"', /surrogate/)
  refused('['.repeat(65) + ']'.repeat(65), /deeper than 64/)
  refused('['.repeat(1_000_000), /deeper than 64/)
  assert.ok(parse('['.repeat(64) + ']'.repeat(64)))
})

test('more values and names than a body may have are refused, wherever they stand', () => {
  const why = /more than 100000 values and names/
  const items = (count: number, item: string) => Array(count).fill(item).join()
  assert.ok(parse(`[${items(maxJsonValues - 1, '1')}]`))
  for (const item of ['1', '[]', '{}', '""', '"a,b"']) refused(`[${items(maxJsonValues, item)}]`, why)
  const named = (count: number, first: string) =>
    `{${first}:0,${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}}`
  assert.ok(parse(named(maxJsonValues / 2 - 2, '"\\u0061"')))
  refused(named(maxJsonValues / 2, '"a"'), why)
  // Commas and brackets inside texts are no values.
  assert.ok(parse(`["${',[{:'.repeat(maxJsonValues)}"]`))
})

test('arbitrary bytes are read or refused as a bad request', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        parseJsonBody(bytes)
      } catch (thrown) {
        assert.equal((thrown as { kind?: string }).kind, 'bad_request')
      }
    }),
  )
})
