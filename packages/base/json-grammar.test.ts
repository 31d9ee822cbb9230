import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseJsonBody } from './json.ts'
import { isJsonText } from './json-grammar.ts'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const texts = [
  '',
  ' ',
  '{}',
  '[]',
  '[ ]',
  '{"a":1}',
  ' { "a" : [ 1 , -0.5e+10 , "x\\u00e9\\n" , null , true , false ] } ',
  '"\\ud800"',
  '0',
  '-0',
  '01',
  '1.',
  '.5',
  '1e',
  '1e+',
  '-',
  '+1',
  '1E5',
  'tru',
  'truex',
  'nul',
  'NaN',
  '"',
  '"a',
  '"\\x"',
  '"\\u12"',
  '"\t"',
  '{',
  '}',
  '[',
  ']',
  '[1,]',
  '[,1]',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  '{"a":1 "b":2}',
  '[1 2]',
  '[[[]]]',
  '[}',
  '{]',
  '{}{}',
  '1 1',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
  '"\\u00AFg"',
  '"\\uDBFF\\uDFFF"',
  '"\\u00g0"',
  '"\\u"',
  '"\\u1"',
  '"\\U0041"',
  '"\\0"',
  '"\\\'"',
  '"\\v"',
  '"\\',
  '"\\"',
  '"\\\\"',
  '"\\\n"',
  '"\n"',
  '"\u0000"',
  '"\u001f"',
  '"\u007f\u0080\u2028\u2029\ufeff"',
  '\ufeff{}',
  '\u00a0{}',
  '{"\\x":1}',
  '{"\t":1}',
  '{"a\\u00e9":1}',
]

/** The same string at each alignment to words of the memory that is read. */
function* alignText(text: string): Generator<Uint8Array> {
  for (let offset = 0; offset < 4; offset++) {
    const bytes = new Uint8Array(new ArrayBuffer(offset + Buffer.byteLength(text) + 8), offset).subarray(
      0,
      Buffer.byteLength(text),
    )
    bytes.set(Buffer.from(text))
    yield bytes
  }
}

function requireSame(text: string): void {
  for (const bytes of alignText(text)) assert.equal(isJsonText(bytes), parses(text), JSON.stringify(text))
}

test('a text is accepted exactly where the parser of the engine accepts it', () => {
  for (const text of texts) requireSame(text)
})

test('each byte is accepted at each index of a string exactly where the parser accepts it', () => {
  for (let code = 0; code < 0x180; code++)
    for (let at = 0; at < 9; at++) {
      const text = `"${'a'.repeat(at)}${String.fromCharCode(code)}${'z'.repeat(8 - at)}"`
      requireSame(text)
      requireSame(text.slice(0, -1))
      requireSame(`"${'a'.repeat(at)}\\${String.fromCharCode(code)}${'1'.repeat(8 - at)}"`)
    }
})

test('the parser of the engine accepts a text exactly where the check does, whatever was changed in it', () => {
  const alphabet = [...'{}[]":,\\/ \n\t\u0000\u001f0123456789.eE+-truefalsnub\u00e9\u{1f511}']
  const edit = fc.record({ at: fc.nat(80), drop: fc.nat(2), put: fc.constantFrom('', ...alphabet) })
  const applyEdits = (start: string, edits: readonly { at: number; drop: number; put: string }[]): string =>
    edits.reduce((text, { at, drop, put }) => text.slice(0, at) + put + text.slice(at + drop), start)
  const started = fc.oneof(fc.constantFrom(...texts), fc.json(), fc.json({ stringUnit: 'binary' }))
  const string = fc
    .array(fc.constantFrom(...alphabet, '\\u00e9', '\\n', 'AAAAAAAAAAAAAAAAAAAAA'), { maxLength: 12 })
    .map((parts) => `"${parts.join('')}"`)
  const changed = fc.tuple(fc.oneof(started, string), fc.array(edit, { maxLength: 4 }))
  fc.assert(
    fc.property(changed, ([start, edits]) => requireSame(applyEdits(start, edits).toWellFormed())),
    { numRuns: 5000 },
  )
})

const long = 'A'.repeat(8_000_000)
const broken: Readonly<Record<string, string>> = {
  'cut off behind a string': `{"data":"${long}"`,
  'cut off in a string': `{"data":"${long}`,
  'with a control character at the end': `{"data":"${long}\n"}`,
  'with an unknown escape at the end': `{"data":"${long}\\x"}`,
  'with a short escape at the end': `{"data":"${long}\\u12"}`,
  'with a broken string behind many': `[${'"AAAAAAAAAAAAAAAAAAAA",'.repeat(80_000)}"\t"]`,
}

for (const [kind, text] of Object.entries(broken))
  test(`a large body ${kind} is refused without a text of it`, (t) => {
    const body = Buffer.from(text)
    const parse = t.mock.method(JSON, 'parse')
    assert.throws(() => parseJsonBody(body), /it is not valid JSON/)
    assert.equal(parse.mock.callCount(), 0)
  })
