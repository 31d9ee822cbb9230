import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import { derTag } from '@warder/pki'
import { der } from '@warder/pki/testing'
import fc from 'fast-check'
import { issue, withCommonNames } from './fixtures/certificates.ts'
import { readPeerCommonName } from './peer.ts'

let pem = ''
before(async () => {
  pem = (await issue({ commonName: 'unused', purpose: 'client' })).certificatePem
})

const utf8 = (value: string) => der(derTag.utf8String, Buffer.from(value))
const printable = (value: string) => der(0x13, Buffer.from(value, 'latin1'))
const teletex = (value: string) => der(0x14, Buffer.from(value, 'latin1'))
const ia5 = (value: string) => der(0x16, Buffer.from(value, 'latin1'))
const bmp = (value: string) => der(0x1e, Buffer.from(value, 'utf16le').swap16())
const nameIn = (...values: readonly Uint8Array[]) =>
  readPeerCommonName(new X509Certificate(withCommonNames(pem, values)))

test('the Common Name is the identity, whatever kind of text it is written as', () => {
  assert.equal(nameIn(utf8('alice')), 'alice')
  assert.equal(nameIn(printable('alice')), 'alice')
  assert.equal(nameIn(bmp('älice')), 'älice')
  assert.equal(nameIn(utf8('Zoë Müller 名前')), 'Zoë Müller 名前')
})

test('no Common Name, an empty one and a star identify no user', () => {
  assert.equal(nameIn(), undefined)
  assert.equal(nameIn(utf8('')), undefined)
  assert.equal(nameIn(utf8('*')), undefined)
})

test('several Common Names identify no user: programs differ in which one counts', () => {
  assert.equal(nameIn(utf8('alice'), utf8('admin')), undefined)
  assert.equal(nameIn(utf8('alice'), utf8('alice')), undefined)
  assert.equal(nameIn(utf8('alice'), utf8('')), undefined)
})

test('a name that could be mistaken for another identifies no user', () => {
  const mistaken = [
    'admin\0',
    'admin\0.example',
    '\0',
    '\0admin',
    'admin\n',
    'admin\r\nCN=root',
    'admin\t',
    'admin\u007f',
    'admin\u0085',
    'admin\u200b',
    'ad\u202enim',
    'ad\u00admin',
    '\ufeffadmin',
    ' admin',
    'admin ',
    '\u00a0admin',
    ' ',
  ]
  for (const name of mistaken) assert.equal(nameIn(utf8(name)), undefined, JSON.stringify(name))
})

test('a NUL is seen in every kind of text (CVE-2009-2408)', () => {
  for (const text of [ia5, teletex, bmp, utf8])
    assert.equal(nameIn(text('admin\0.attacker.example')), undefined)
})

test('a name has 256 characters at most', () => {
  assert.equal(nameIn(utf8('x'.repeat(256))), 'x'.repeat(256))
  assert.equal(nameIn(utf8('x'.repeat(257))), undefined)
  assert.equal(nameIn(utf8('x'.repeat(100_000))), undefined)
})

test('what looks like another attribute inside of the name stays inside of it', () => {
  for (const name of [
    'alice, CN=admin',
    'alice/CN=admin',
    'alice+CN=admin',
    'CN=admin',
    '"admin"',
    '\\admin',
  ])
    assert.equal(nameIn(utf8(name)), name)
})

test('any name is exactly that name, or identifies no user', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (name) => {
      const read = nameIn(utf8(name))
      if (read !== undefined) assert.equal(read, name)
      if (/^[a-z0-9@.-]+$/.test(name)) assert.equal(read, name)
    }),
    { numRuns: 60 },
  )
})
