import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { basicConstraints, issueCertificate, nameFromText } from '@warder/pki'
import { modernFile } from '@warder/pki/testing'
import { readTls } from './tls.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-tls-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const spki = publicKey.export({ format: 'der', type: 'spki' })
const name = nameFromText('CN=x')
const der = await issueCertificate(
  { subject: name, spki, notBefore: 0, notAfter: 1e12, extensions: [basicConstraints(false)] },
  { name, key: privateKey, spki, keyIdentifier: undefined },
)

const read = (certificate: string | Uint8Array, key: string | Uint8Array) => {
  const file = (path: string) => join(folder, path)
  writeFileSync(file('crt'), certificate)
  writeFileSync(file('key'), key, { mode: 0o600 })
  const settings = {
    verify: 'full',
    rootCertificates: 'crt',
    certificate: 'crt',
    key: 'key',
    direct: false,
  } as const
  const tls = readTls(settings, 'localhost', file)
  assert.ok(tls)
  return tls
}

test('sslrootcert, sslcert and sslkey are read with a byte order mark, with CRLF and as DER', () => {
  const certificate = new X509Certificate(der).toString()
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  for (const [crt, pem] of [
    [certificate, key],
    [`\ufeff${certificate}`, `\ufeff${key}`],
    [`x\r\n${certificate.replaceAll('\n', '\r\n')}`, `x\r\n${key.replaceAll('\n', '\r\n')}`],
    [der, privateKey.export({ format: 'der', type: 'pkcs8' })],
    [der, privateKey.export({ format: 'der', type: 'sec1' })],
  ] as const) {
    const tls = read(crt, pem)
    assert.ok(new X509Certificate(String(tls.cert)).raw.equals(der))
    assert.ok(new X509Certificate(String(tls.ca)).raw.equals(der))
    assert.ok(createPrivateKey(String(tls.key)).equals(privateKey))
  }
})

test('a PKCS#12 file is refused with the parameter that names it', () => {
  assert.throws(() => read(der, modernFile), { name: 'StartupError', message: /sslkey: .*PKCS#12/ })
  assert.throws(() => read(modernFile, 'x'), { name: 'StartupError', message: /ssl(root)?cert: .*PKCS#12/ })
})
