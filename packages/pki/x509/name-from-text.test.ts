import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PkiError } from '../error.ts'
import { nameText } from './distinguished-name.ts'
import { nameFromParts } from './name.ts'
import { nameFromText } from './name-from-text.ts'

test('a name is parsed from text, the last part first', () => {
  assert.deepEqual(
    nameFromText('CN=Root, O=Acme'),
    nameFromParts([
      ['O', 'Acme'],
      ['CN', 'Root'],
    ]),
  )
  assert.equal(
    nameText(nameFromText('cn = a\\, b ,emailAddress=x@y.example')),
    'CN=a\\, b,emailAddress=x@y.example',
  )
  assert.equal(nameText(nameFromText('O=Z\\C3\\BCrich\\2c AG')), 'O=Zürich\\, AG')
  assert.equal(nameFromText('  ').length, 2)
  // Only spaces around a value are ignored; other blanks belong to it.
  assert.deepEqual(nameFromText('CN= \u2003a\u2003 '), nameFromParts([['CN', '\u2003a\u2003']]))
})

test('invalid names are refused with a reason', () => {
  for (const [text, problem] of [
    ['Root', /of the form CN=Root/],
    ['CN=', /no value for CN/],
    ['CN=a,,O=b', /of the form CN=Root/],
    ['X=a', /of the form CN=Root/],
    ['CN=a+O=b', /several attributes/],
    ['CN=a\\', /within an escape/],
    ['CN=a\\00', /control/],
    ['CN=a\nb', /control/],
    [`CN=${'a'.repeat(3000)}`, /too long/],
  ] as const)
    assert.throws(() => nameFromText(text), { code: 'invalid_value', message: problem })
})

test('property: a formatted name is parsed to the same name', () => {
  const value = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .filter((text) => /^[^\p{C}]+$/u.test(text))
  const part = fc.tuple(fc.constantFrom('CN', 'O', 'OU', 'L'), value)
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const der = nameFromParts(parts as Parameters<typeof nameFromParts>[0])
      assert.deepEqual(nameFromText(nameText(der)), der)
    }),
  )
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        nameText(nameFromText(text))
      } catch (error) {
        assert.ok(error instanceof PkiError, String(error))
      }
    }),
  )
})
