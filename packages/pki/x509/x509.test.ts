import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { PkiError } from '../error.ts'
import { p256Request } from '../testing/certificate-requests.ts'
import { readCertificate } from './certificate.ts'
import { nameFromParts } from './distinguished-name.ts'
import {
  basicConstraints,
  type Extension,
  keyUsage,
  readBasicConstraints,
  readCertificateExtensions,
  readKeyUsage,
} from './extensions.ts'
import { generalName } from './general-name.ts'
import { issueCertificate } from './issue.ts'
import { opensslExtensions } from './openssl-extensions.ts'
import { validatePath } from './path/validate.ts'
import { readCertificationRequest } from './request.ts'

const now = Date.UTC(2026, 5, 1)
const year = 365 * 86_400_000
const exportSpki = (key: KeyObject) => key.export({ format: 'der', type: 'spki' })

interface Party {
  readonly name: Buffer
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

function party(cn: string, type = 'ec', options: object = { namedCurve: 'P-256' }): Party {
  const pair = generateKeyPairSync(type as 'ec', options as { namedCurve: string })
  return { name: nameFromParts([['CN', cn]]), ...pair }
}

function issue(
  subject: Party,
  issuer: Party,
  extensions: readonly Extension[],
  [from, to]: readonly [number, number] = [now, now + year],
): Promise<Buffer> {
  return issueCertificate(
    {
      subject: subject.name,
      spki: exportSpki(subject.publicKey),
      notBefore: from,
      notAfter: to,
      extensions,
    },
    {
      name: issuer.name,
      key: issuer.privateKey,
      spki: exportSpki(issuer.publicKey),
      keyIdentifier: undefined,
    },
  )
}

const authority = [basicConstraints(true), keyUsage(['keyCertSign', 'cRLSign'])]
const end = [basicConstraints(false), keyUsage(['digitalSignature'])]

test('signing keys of every algorithm issue valid certificates', async () => {
  for (const [type, options] of [
    ['rsa', { modulusLength: 2048 }],
    ['ec', { namedCurve: 'P-256' }],
    ['ec', { namedCurve: 'P-384' }],
    ['ec', { namedCurve: 'P-521' }],
    ['ec', { namedCurve: 'brainpoolP256r1' }],
    ['ed25519', {}],
    ['ed448', {}],
    ['ml-dsa-44', {}],
    ['slh-dsa-sha2-128f', {}],
  ] as const) {
    const [root, leaf] = [party('root', type, options), party('leaf')]
    const [certificate, anchor] = [await issue(leaf, root, end), await issue(root, root, authority)]
    const { validity } = validatePath({ certificate, anchors: [anchor], at: now })
    assert.equal(validity, 'Valid', type)
  }
  const cannot = party('x25519', 'x25519', {})
  await assert.rejects(issue(cannot, cannot, end), { code: 'cannot_sign' })
})

test('a certificate contains the given values', async () => {
  const root = party('root')
  const name = nameFromParts([
    ['C', 'CH'],
    ['O', 'Zürcher & Söhne'],
    ['Email', 'a@b.ch'],
    ['OU', ''],
    ['CN', 'name'],
  ])
  const der = await issueCertificate(
    {
      subject: name,
      spki: exportSpki(root.publicKey),
      notBefore: now,
      notAfter: Date.UTC(2060, 0, 1),
      extensions: [
        ...authority,
        ...opensslExtensions('subjectAltName=DNS:a.ch,email:a@b.ch,URI:https://a.ch/x'),
      ],
    },
    { name: root.name, key: root.privateKey, spki: exportSpki(root.publicKey), keyIdentifier: undefined },
  )
  const x509 = new X509Certificate(der)
  assert.equal(x509.validToDate.getTime(), Date.UTC(2060, 0, 1))
  assert.deepEqual(readCertificate(der).subjectParts, [
    ['C', 'CH'],
    ['O', 'Zürcher & Söhne'],
    ['Email', 'a@b.ch'],
    ['CN', 'name'],
  ])
  assert.equal(x509.subjectAltName, 'DNS:a.ch, email:a@b.ch, URI:https://a.ch/x')
  assert.match(x509.serialNumber, /^[4-7][0-9A-F]{31}$/)
  const read = readCertificateExtensions(der)
  assert.deepEqual(readBasicConstraints(read), { authority: true, pathLength: undefined })
  assert.deepEqual(readKeyUsage(read), ['keyCertSign', 'cRLSign'])
})

test('extensions in OpenSSL format are supported or refused, never omitted', () => {
  const text = `
    # what an authority needs
    [ v3_ca ]
    basicConstraints = critical, CA:TRUE, pathlen:2
    keyUsage = keyCertSign, cRLSign
    subjectKeyIdentifier = hash
    extendedKeyUsage = serverAuth, 1.3.6.1.5.5.7.3.17
    crlDistributionPoints = URI:http://a.ch/crl`
  const read = opensslExtensions(text)
  assert.deepEqual(readBasicConstraints(read), { authority: true, pathLength: 2 })
  assert.deepEqual(
    read.map(({ identifier, critical }) => [identifier, critical]),
    [
      ['2.5.29.19', true],
      ['2.5.29.15', false],
      ['2.5.29.37', false],
      ['2.5.29.31', false],
    ],
  )
  for (const wrong of [
    'basicConstraints=CA:perhaps',
    'basicConstraints=CA:TRUE,pathlen:-1',
    'keyUsage=everything',
    'extendedKeyUsage=any',
    'extendedKeyUsage=constructor',
    'extendedKeyUsage=1.50.3',
    'extendedKeyUsage=critical',
    'keyUsage=critical',
    'subjectAltName=IP:fe80::1%eth0',
    'subjectAltName=IP:::ffff:192.0.2.1',
    'subjectAltName=dirName:x',
    'subjectAltName=IP:300.1.1.1',
    'subjectAltName=DNS:',
    'crlDistributionPoints=file:///etc/passwd',
    'nameConstraints=permitted;DNS:a',
    '[ other ]\nkeyUsage=keyCertSign',
    'no value',
    // Regression: this line took hours.
    `[${' '.repeat(16_000)}!`,
    `${'x'.repeat(20_000)}`,
  ])
    assert.throws(() => opensslExtensions(wrong), { code: 'invalid_value' }, wrong.slice(0, 40))
})

test('IP addresses are encoded as bytes', () => {
  const hex = (text: string) => generalName(text).toString('hex')
  assert.equal(hex('IP:192.0.2.1'), '8704c0000201')
  assert.equal(hex('IP:2001:db8::1'), '871020010db8000000000000000000000001')
  assert.equal(hex('IP:::1'), '871000000000000000000000000000000001')
  assert.equal(hex('IP:fe80::'), '8710fe800000000000000000000000000000')
  assert.equal(hex('DNS:a'), '820161')
})

test('property: modified and truncated requests are refused', () => {
  fc.assert(
    fc.property(
      fc.nat(p256Request.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      (at, flip, cut) => {
        const changed = Buffer.from(cut ? p256Request.subarray(0, at) : p256Request)
        if (!cut) changed[at] = (changed[at] ?? 0) ^ flip
        assert.throws(
          () => readCertificationRequest(changed),
          (error: unknown) => error instanceof PkiError && error.code === 'invalid_request',
        )
      },
    ),
    { numRuns: 300 },
  )
  assert.equal(readCertificationRequest(p256Request).extensions.length, 4)
})
