import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxJsonValues, parseJsonBody } from './json.ts'

const parse = (text: string) => parseJsonBody(Buffer.from(text, 'utf8'))
const assertRefused = (text: string | Uint8Array, why: RegExp) =>
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
      if (/\\(?:[^"\\]|\\.)*":/.test(text)) return
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
  )
})

test('a text is refused exactly when one of its objects has a member twice', () => {
  // A small alphabet makes repeated names likely; names hold what could fool a scan.
  const name = fc.constantFrom('a', 'b', '"', '\n', ':', '{', 'x'.repeat(60), `${'"'.repeat(50)}é`)
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
      if (twice) assertRefused(text, /appears twice/)
      else assert.deepEqual(parse(text), JSON.parse(text))
    }),
    { numRuns: 500 },
  )
})

test('the same member in two spellings is still the same member', () => {
  assertRefused('{"a":1,"\\u0061":2}', /appears twice/)
})

/**
 * V8 14.6 compares a name that it expects with the text of the name, before escapes are taken out of it
 * (docs/adr/http-requests.md): what an earlier text named, how the name is written now, and what it stands for.
 */
const misread: readonly (readonly [expected: string, written: string, meant: string])[] = [
  ['\\', '\\u0085', '\u0085'],
  ['\\', '\\n', '\n'],
  ['\\u0', '\\u0061lg', 'alg'],
  ['alg\\', 'alg\\n', 'alg\n'],
  ['r\\u0', 'r\\u00f4le', 'rôle'],
]

/** Lets the engine expect the member `name` after the member `first`, as earlier texts would. */
function prime(first: string, name: string, read: (text: string) => unknown): void {
  for (let times = 0; times < 5; times++) {
    try {
      read(`{"${first}":0,${JSON.stringify(name)}:1}`)
    } catch {}
  }
}

test('The names of a body are read rightly whatever bodies came before it', () => {
  for (const [index, [expected, written, meant]] of misread.entries()) {
    const first = `body ${index}`
    prime(first, expected, parse)
    assert.deepEqual(parse(`{"${first}":0,"${written}":1}`), { [first]: 0, [meant]: 1 })
  }
})

test('Names that the engine reads wrongly are refused, also two that are taken for each other', () => {
  const rightOrRefused = (text: string, right: unknown) => {
    try {
      assert.deepEqual(parse(text), right, text)
    } catch (thrown) {
      assert.equal((thrown as { kind?: string }).kind, 'bad_request', String(thrown))
    }
  }
  for (const [index, [expected, written, meant]] of misread.entries()) {
    const first = `elsewhere ${index}`
    prime(first, expected, JSON.parse)
    rightOrRefused(`{"${first}":0,"${written}":1}`, { [first]: 0, [meant]: 1 })
  }
  prime('left', '\\\\', JSON.parse)
  prime('right', '\\u', JSON.parse)
  rightOrRefused('[{"left":0,"\\\\u":1},{"right":0,"\\u005c\\u005c":1}]', [
    { left: 0, '\\u': 1 },
    { right: 0, '\\\\': 1 },
  ])
})

test('A member name with a backslash is refused in any spelling, other escapes are not', () => {
  for (const name of ['\\\\', 'a\\\\', '\\u005c', '\\u005Ca', '\\n\\\\', '\\"\\u005c'])
    assertRefused(`{"a":{"${name}" : 1}}`, /a member name contains a backslash/)
  assert.deepEqual(parse('{"https:\\/\\/a":1,"r\\u00f4le":{"\\"":"\\\\"},"\\u0075005c":"\\u005c"}'), {
    'https://a': 1,
    rôle: { '"': '\\' },
    u005c: '\\',
  })
  // Colons that no name precedes cost nothing.
  assertRefused(`{"\\n${'x'.repeat(1_000_000)}"${':'.repeat(90_000)}`, /not valid JSON/)
})

test('hostile texts are refused without repeating them', () => {
  assertRefused('{"__proto__":{"admin":true}}', /__proto__/)
  assertRefused('{"\\u005f_proto__":1}', /__proto__/)
  assertRefused(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), /UTF-8/)
  assertRefused('\ufeff{}', /not valid JSON/)
  assertRefused('{"secret":"hunter2"', /: it is not valid JSON\.$/)
  assertRefused('"\\ud800"', /surrogate/)
  assertRefused('['.repeat(65) + ']'.repeat(65), /deeper than 64/)
  assertRefused('['.repeat(1_000_000), /deeper than 64/)
  assert.ok(parse('['.repeat(64) + ']'.repeat(64)))
})

test('more values and names than a body may have are refused, wherever they stand', () => {
  const why = /more than 100000 values and names/
  const items = (count: number, item: string) => Array(count).fill(item).join()
  assert.ok(parse(`[${items(maxJsonValues - 1, '1')}]`))
  for (const item of ['1', '[]', '{}', '""', '"a,b"']) assertRefused(`[${items(maxJsonValues, item)}]`, why)
  const formatMembers = (count: number, first: string) =>
    `{${first}:0,${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}}`
  assert.ok(parse(formatMembers(maxJsonValues / 2 - 2, '"\\u0061"')))
  assertRefused(formatMembers(maxJsonValues / 2, '"a"'), why)
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
