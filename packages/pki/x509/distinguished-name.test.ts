import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { der, derObjectIdentifier, derSequence, derTag } from '../der.ts'
import { PkiError } from '../error.ts'
import {
  comparableName,
  hasForeignCharacters,
  type NamePart,
  nameFromParts,
  nameFromText,
  namePartIdentifiers,
  nameText,
  readNameParts,
} from './distinguished-name.ts'

type Part = readonly [identifier: string, value: string | Buffer]

const part = ([identifier, value]: Part) =>
  derSequence(
    derObjectIdentifier(identifier),
    typeof value === 'string' ? der(derTag.utf8String, Buffer.from(value)) : value,
  )
const name = (...relatives: readonly (readonly Part[])[]) =>
  nameText(derSequence(...relatives.map((parts) => der(derTag.set, ...parts.map(part)))))

const [cn, c, o, email, uid] = [
  '2.5.4.3',
  '2.5.4.6',
  '2.5.4.10',
  '1.2.840.113549.1.9.1',
  '0.9.2342.19200300.100.1.1',
]

test('a name is formatted as in RFC 4514: last part first, multi-valued parts with a plus', () => {
  assert.equal(name(), '')
  assert.equal(name([[c, 'CH']], [[o, 'Example']], [[cn, 'kms']]), 'CN=kms,O=Example,C=CH')
  const several: readonly Part[] = [
    [cn, 'kms'],
    [uid, '7'],
  ]
  assert.equal(
    name([[c, 'CH']], several, [[email, 'a@b.example']]),
    'emailAddress=a@b.example,CN=kms+UID=7,C=CH',
  )
})

test('RFC 4514 §2.4: special characters are escaped', () => {
  assert.equal(name([[o, 'A, B "C" +D;<E>\\']]), 'O=A\\, B \\"C\\" \\+D\\;\\<E\\>\\\\')
  assert.equal(name([[o, '#1 ']]), 'O=\\#1\\ ')
  assert.equal(name([[o, '  ']]), 'O=\\ \\ ')
  assert.equal(name([[o, ' ']]), 'O=\\ ')
  assert.equal(name([[o, 'a\u0000b=é']]), 'O=a\\00b=é')
})

test('RFC 4514 §2.4: values without descriptor or text are hexadecimal', () => {
  assert.equal(name([['1.3.6.1.4.1.1466.0', 'Hi']]), '1.3.6.1.4.1.1466.0=#0c024869')
  assert.equal(name([[cn, der(derTag.octetString, Buffer.from([1, 2]))]]), 'CN=#04020102')
})

const universal = (text: string): Buffer =>
  der(0x1c, ...[...text].map((letter) => Buffer.from([0, 0, 0, letter.charCodeAt(0)])))
const named = (value: Buffer) => derSequence(der(derTag.set, part([cn ?? '', value])))

test('names in different string types are equal, as for relying parties', () => {
  const plain = named(der(derTag.utf8String, Buffer.from('Issuing')))
  const other = named(universal('issuing'))
  assert.deepEqual(comparableName(other), comparableName(plain))
  assert.equal(nameText(other), 'CN=issuing')
  assert.deepEqual(readNameParts(other), [['CN', 'issuing']])
  for (const content of [
    [0, 0, 65],
    [0, 0x11, 0, 0],
    [0, 0, 0xd8, 0],
  ])
    assert.match(nameText(named(der(0x1c, Buffer.from(content)))), /^CN=#1c/)
  assert.ok(!hasForeignCharacters(plain))
  const latin = Buffer.from('Z\u00fcrich', 'latin1')
  for (const tag of [0x12, 0x13, 0x16, 0x1a]) {
    assert.ok(hasForeignCharacters(named(der(tag, latin))))
    assert.ok(!hasForeignCharacters(named(der(tag, Buffer.from('Zurich')))))
  }
  assert.ok(!hasForeignCharacters(named(der(derTag.utf8String, Buffer.from('Z\u00fcrich')))))
})

test('malformed names are refused', () => {
  for (const bytes of [new Uint8Array(), Buffer.from([0x30, 5, 0]), derSequence(derSequence())])
    assert.throws(() => nameText(bytes), PkiError)
})

const parts = fc.array(
  fc.tuple(
    fc.constantFrom(...(Object.keys(namePartIdentifiers) as NamePart[])),
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.string({ unit: 'binary-ascii', maxLength: 12 }),
    ),
  ),
  { maxLength: 6 },
)

test('property: the parts of an encoded name are decoded in their order', () => {
  fc.assert(
    fc.property(parts, (given) => {
      assert.deepEqual(
        readNameParts(nameFromParts(given)),
        given.filter(([, value]) => value !== ''),
      )
    }),
  )
})

test('property: different names have different texts', () => {
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      const [first, second] = [nameFromParts(one), nameFromParts(other)]
      assert.equal(nameText(first) === nameText(second), first.equals(second))
    }),
  )
  // Values that would read as another part if they were not escaped.
  const [inside, beside] = [
    nameFromParts([['CN', 'a,O=b']]),
    nameFromParts([
      ['O', 'b'],
      ['CN', 'a'],
    ]),
  ]
  assert.notEqual(nameText(inside), nameText(beside))
})

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
