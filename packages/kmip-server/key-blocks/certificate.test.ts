import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteString, Enumeration, enumeration, structure, Tag } from '@warder/kmip-codec'
import { certificateFacts, certificateNodes } from './certificate-facts.ts'
import { hex } from './fixtures/nodes.ts'
import { readManagedObject } from './read-object.ts'
import { writeManagedObject } from './write-object.ts'

/** Self-signed on P-256, serial number 0x8123, every part of a name that KMIP knows, two alternative names. */
const certificate = Buffer.from(
  'MIIDFjCCAr2gAwIBAgIDAIEjMAoGCCqGSM49BAMCMIHpMQswCQYDVQQGEwJDSDEQMA4GA1UECAwHWsO8cmljaDEOMAwGA1UEBwwFVXN0ZXIxEzARBgNVBAoMCkV4YW1wbGUgQUcxEzARBgNVBAsMCkNlcmVtb25pZXMxFDASBgNVBAMMC2ttcy5leGFtcGxlMR8wHQYJKoZIhvcNAQkBFhBrZXlzQGV4YW1wbGUub3JnMQswCQYDVQQFEwI0MjEPMA0GA1UEDAwGU2VydmVyMQswCQYDVQQuEwJxMTETMBEGCgmSJomT8ixkAQEMA3UtNzEXMBUGCgmSJomT8ixkARkWB2V4YW1wbGUwIBcNMjYxMTIxMDg1MDM2WhgPMjEyNjEwMjgwODUwMzZaMIHpMQswCQYDVQQGEwJDSDEQMA4GA1UECAwHWsO8cmljaDEOMAwGA1UEBwwFVXN0ZXIxEzARBgNVBAoMCkV4YW1wbGUgQUcxEzARBgNVBAsMCkNlcmVtb25pZXMxFDASBgNVBAMMC2ttcy5leGFtcGxlMR8wHQYJKoZIhvcNAQkBFhBrZXlzQGV4YW1wbGUub3JnMQswCQYDVQQFEwI0MjEPMA0GA1UEDAwGU2VydmVyMQswCQYDVQQuEwJxMTETMBEGCgmSJomT8ixkAQEMA3UtNzEXMBUGCgmSJomT8ixkARkWB2V4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASzWt/jnG2HuvrKcIzIT0fYz+YmXQ4WlfMa0LPHp6UGwpZ4XAJyI47q6uTsSTDo4aCSNRECdGDTn6l29fyB5JvZo1AwTjAcBgNVHREEFTATggtrbXMuZXhhbXBsZYcEwAACATAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBTbI1eQYMsGh5kcw6/QbdZWdopCOzAKBggqhkjOPQQDAgNHADBEAiBGOIoJIB4o+H8udClUjCpmDLO6c7XMSyOk66k/Oh/BpwIgMIFQnmhgy578w+jUgCIAeQiq2wp0vlY1X6p61yyeW7c=',
  'base64',
)

test('the attributes of a certificate are read from its contents', () => {
  const facts = certificateFacts(certificate)
  assert.equal(facts.der.length, certificate.length)
  assert.equal(facts.signatureAlgorithm, '1.2.840.10045.4.3.2')
  assert.deepEqual(facts.key, { algorithm: 'EC', bits: 256, curve: 'P_256' })
  assert.equal(hex(facts.serialNumber), '008123')
  assert.deepEqual(facts.subjectParts, [
    ['C', 'CH'],
    ['ST', 'Zürich'],
    ['L', 'Uster'],
    ['O', 'Example AG'],
    ['OU', 'Ceremonies'],
    ['CN', 'kms.example'],
    ['Email', 'keys@example.org'],
    ['SerialNumber', '42'],
    ['Title', 'Server'],
    ['DNQualifier', 'q1'],
    ['UID', 'u-7'],
    ['DC', 'example'],
  ])
  assert.deepEqual(facts.issuerParts, facts.subjectParts)
  assert.deepEqual(facts.subjectAlternativeNames.map(hex), [
    `820b${Buffer.from('kms.example').toString('hex')}`,
    '8704c0000201',
  ])
  const nodes = certificateNodes(facts)
  const value = (tag: number) => nodes.find((node) => node.tag === tag)?.value
  assert.equal(value(Tag.CertificateLength), certificate.length)
  assert.equal(value(Tag.CertificateSubjectCN), 'kms.example')
  assert.equal(value(Tag.CertificateIssuerST), 'Zürich')
  assert.equal(value(Tag.DigitalSignatureAlgorithm), Enumeration.DigitalSignatureAlgorithm.ECDSAWithSHA256)
})

test('bytes that are not a certificate are refused, whatever their beginning', () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('-----BEGIN CERTIFICATE-----'),
    certificate.subarray(0, -1),
    Buffer.from('3000', 'hex'),
  ])
    assert.throws(() => certificateFacts(bytes), { code: 'InvalidField' })
  for (let at = 0; at < certificate.length; at += 7) {
    const changed = Buffer.from(certificate)
    changed[at] = (changed[at] ?? 0) ^ 0x55
    try {
      certificateFacts(changed)
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'InvalidField', String(error))
    }
  }
})

test('Get returns a certificate byte for byte as it was registered', async () => {
  const node = structure(Tag.Certificate, [
    enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
    byteString(Tag.CertificateValue, certificate),
  ])
  const stored = await readManagedObject('Certificate', node, {}, { fips: false })
  assert.ok(stored.material)
  assert.deepEqual(writeManagedObject(stored.shape, Buffer.from(stored.material)), node)
  assert.throws(() => writeManagedObject(stored.shape, certificate, { format: 'PKCS_1' }), {
    code: 'KeyFormatTypeNotSupported',
  })
  await assert.rejects(readManagedObject('Certificate', node, { certificateType: 'PGP' }, { fips: false }), {
    code: 'InvalidField',
  })
})
