import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseJsonBody } from './json-body.ts'
import { hasJsonStructure } from './json-grammar.ts'

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
]

/** The parser refuses these for what is in a string. */
const inStrings = new Set(['"\\x"', '"\\u12"', '"\t"'])

test('the structure is refused where the parser of the engine refuses it', () => {
  for (const text of texts)
    assert.equal(
      hasJsonStructure(Buffer.from(text)),
      parses(text) || inStrings.has(text),
      JSON.stringify(text),
    )
})

test('nothing that the parser of the engine takes is refused, whatever was changed in a text', () => {
  const alphabet = [...'{}[]":,\\/ \n\t0123456789.eE+-truefalsnub\u00e9']
  const edit = fc.record({ at: fc.nat(80), drop: fc.nat(2), put: fc.constantFrom('', ...alphabet) })
  const changed = fc
    .tuple(fc.constantFrom(...texts), fc.array(edit, { maxLength: 4 }))
    .map(([start, edits]) =>
      edits.reduce((text, { at, drop, put }) => text.slice(0, at) + put + text.slice(at + drop), start),
    )
  const valid = fc.json().chain((text) => fc.constantFrom(text, `${text} `, text.slice(0, -1)))
  fc.assert(
    fc.property(fc.oneof(changed, valid), (text) => hasJsonStructure(Buffer.from(text)) || !parses(text)),
    { numRuns: 5000 },
  )
})

test('a large body that is broken is refused without a text of it', () => {
  const broken = Buffer.from(`{"data":"${'A'.repeat(8_000_000)}"`)
  const body = () => {
    assert.throws(() => parseJsonBody(broken), /it is not valid JSON/)
  }
  body()
  const before = process.memoryUsage().heapTotal
  for (let round = 0; round < 20; round++) body()
  assert.ok(process.memoryUsage().heapTotal - before < 8_000_000)
})
