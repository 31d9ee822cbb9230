import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { derInBase64, pemText, privateKeyText } from './pem.ts'
import { legacyFile, modernFile } from './testing/pkcs12-files.ts'
import { nameFromText } from './x509/distinguished-name.ts'
import { basicConstraints } from './x509/extensions.ts'
import { issueCertificate } from './x509/issue.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const spki = publicKey.export({ format: 'der', type: 'spki' })
const name = nameFromText('CN=x')
const der = await issueCertificate(
  { subject: name, spki, notBefore: 0, notAfter: 1e12, extensions: [basicConstraints(false)] },
  { name, key: privateKey, spki, keyIdentifier: undefined },
)
const pem = new X509Certificate(der).toString()

test('a certificate is read after a byte order mark and other text, with CRLF, and as DER', () => {
  for (const bytes of [
    der,
    ...[
      pem,
      `\ufeff${pem}`,
      `subject=CN = x\n\n${pem}`,
      `\ufeff# note\r\n${pem.replaceAll('\n', '\r\n')}`,
    ].map((text) => Buffer.from(text)),
  ])
    assert.ok(new X509Certificate(pemText(bytes, 'CERTIFICATE')).raw.equals(der))
  // All certificates of a file, and the text between them.
  const chain = pemText(Buffer.from(`\ufeffa\n${pem}b\n${pem}`), 'CERTIFICATE')
  assert.equal(chain.match(/BEGIN CERTIFICATE/g)?.length, 2)
  assert.equal(pemText(Buffer.from('neither'), 'CERTIFICATE'), 'neither')
  assert.equal(
    pemText(Buffer.from('0 is a text that begins as DER does'), 'CERTIFICATE').startsWith('0 is'),
    true,
  )
})

test('a private key is read in each form of DER', () => {
  for (const type of ['pkcs8', 'sec1'] as const)
    assert.ok(createPrivateKey(privateKeyText(privateKey.export({ format: 'der', type }))).equals(privateKey))
  const text = privateKey.export({ format: 'pem', type: 'pkcs8' })
  assert.ok(createPrivateKey(privateKeyText(Buffer.from(`\ufeffx\r\n${text}`))).equals(privateKey))
})

test('a PKCS#12 file is named, with the command that converts it', () => {
  const message = /PKCS#12.*openssl pkcs12 -in FILE -nodes/
  for (const file of [modernFile, legacyFile]) {
    assert.throws(() => privateKeyText(file), { code: 'malformed', message })
    assert.throws(() => pemText(file, 'CERTIFICATE'), { code: 'malformed', message })
  }
})

test('only base64 of DER is accepted in place of PEM', () => {
  const base64 = der.toString('base64')
  for (const text of [base64, `\ufeff${base64}\r\n`, (base64.match(/.{1,64}/g) ?? []).join('\n')])
    assert.ok(derInBase64(text)?.equals(der))
  for (const text of [
    '',
    pem,
    'AAAA',
    'MII',
    `${base64}!`,
    der.toString('base64url').replaceAll('A', '-'),
    'MAAA',
  ])
    assert.equal(derInBase64(text), undefined, text)
})
