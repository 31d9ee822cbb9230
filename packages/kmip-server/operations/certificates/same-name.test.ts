import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { byteString, Tag, textString } from '@warder/kmip-codec'
import { grant } from '@warder/kms/testing'
import { certificateSigner, derSequence, derTag, issueRequest } from '@warder/pki'
import { der, derObjectIdentifier } from '@warder/pki/testing'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, vendorAttribute } from '../../testing/nodes.ts'
import { link } from '../objects/replacement.ts'

// A self-issued certificate escapes path lengths and constraints on names (RFC 5280 §6.1.3, §6.1.4). OpenSSL compares names
// whatever their types of string, so an authority has to recognise its own name in each of them.

const { kms, bob } = await startKmipFixture()

const universal = (text: string): Buffer =>
  der(0x1c, ...[...text].map((letter) => Buffer.from([0, 0, 0, letter.charCodeAt(0)])))
const inBytes = (tag: number, encoding: 'latin1' | 'utf8') => (text: string) =>
  der(tag, Buffer.from(text, encoding))
const nameOf = (value: Buffer) =>
  derSequence(der(derTag.set, derSequence(derObjectIdentifier('2.5.4.3'), value)))

const types: readonly (readonly [type: string, write: (text: string) => Buffer])[] = [
  ['UniversalString', universal],
  ['BMPString', (text) => der(0x1e, Buffer.from(text, 'utf16le').swap16())],
  ['TeletexString', inBytes(0x14, 'latin1')],
  ...(
    [
      ['NumericString', 0x12],
      ['PrintableString', 0x13],
      ['IA5String', 0x16],
      ['VisibleString', 0x1a],
    ] as const
  ).flatMap(([type, tag]) =>
    (['latin1', 'utf8'] as const).map(
      (encoding) => [`${type} of ${encoding}`, inBytes(tag, encoding)] as const,
    ),
  ),
]

test('an authority issues no certificate with its own name for another key, in any string type', async () => {
  const alice = kms.user('alice')
  const body = { subject: 'CN=Z\u00fcrich', alg: 'ES256', path_length: 1 }
  const { json } = await alice.post('/v1/pki/authorities', body)
  await grant(alice, json.id, 'bob', 'certify')
  const extension = textString(Tag.AttributeValue, 'basicConstraints=critical,CA:TRUE')
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const asked = async (value: Buffer) => [
    byteString(
      Tag.CertificateRequestValue,
      await issueRequest(
        { subject: nameOf(value), spki, extensions: [] },
        certificateSigner(privateKey, spki),
      ),
    ),
    attributes(link('CertificateLink', json.id), vendorAttribute('example', 'x509-extension', extension)),
  ]
  for (const [type, write] of types) {
    const { status } = await bob.ask('Certify', await asked(write('Z\u00fcrich')))
    assert.equal(status, 'OperationFailed', type)
  }
  assert.ok((await bob.do('Certify', await asked(universal('Berne')))).id)
  assert.ok((await bob.do('Certify', await asked(inBytes(0x13, 'latin1')('Basel')))).id)
})
