import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { derElements } from '../der.ts'
import { PkiError } from '../error.ts'
import { issue, party, toIssuer, year } from '../testing/authorities.ts'
import { missingOpenssl, opensslFolder, pem } from '../testing/openssl.ts'
import { type Extension, extensionIdentifiers, readCertificateExtensions } from './extensions.ts'
import { constraintName, generalName, readNameConstraints, spiffeName } from './general-name.ts'
import { issueCertificate } from './issue.ts'
import {
  certificatePolicies,
  inhibitAnyPolicy,
  policyConstraints,
  policyMappings,
  readCertificatePolicies,
  readInhibitAnyPolicy,
  readPolicyConstraints,
  readPolicyMappings,
} from './policies.ts'
import { type ProfileName, type ProfileWish, profileExtensions, profiles } from './profiles.ts'
import { readAuthorityInformationAccess, readCrlDistributionPoints, urlsIn } from './revocation-access.ts'

const ids = extensionIdentifiers
const root = party('root')
const { spki } = party('key')
const dns = [generalName('DNS:a.example')]
const addresses = {
  crlUrls: ['http://pki.example/crl'],
  ocspUrls: ['http://pki.example/ocsp'],
  issuerUrls: ['http://pki.example/ca.cer'],
}
const listIdentifiers = (extensions: readonly Extension[]) => extensions.map(({ identifier }) => identifier)
const wanted: Readonly<Record<ProfileName, Partial<ProfileWish>>> = {
  server: { names: dns, ...addresses },
  client: { names: [generalName('email:a@b.example')], ...addresses },
  codeSigning: { noRevocation: true },
  authority: {
    pathLength: 1,
    permitted: [constraintName('DNS:example')],
    policies: ['1.3.6.1.4.1.1'],
    ...addresses,
  },
  ocspResponder: addresses,
  spiffe: { names: [spiffeName('spiffe://example.org/billing')], subjectIsEmpty: true, ...addresses },
}

test('a profile determines the usages of a certificate', () => {
  const shown = Object.keys(profiles).map((name) => {
    const extensions = profileExtensions(name as ProfileName, { spki, ...wanted[name as ProfileName] })
    return [name, listIdentifiers(extensions)]
  })
  const [bc, ku, eku] = [ids.basicConstraints, ids.keyUsage, ids.createExtendedKeyUsage]
  const told = [ids.crlDistributionPoints, ids.authorityInformationAccess]
  assert.deepEqual(Object.fromEntries(shown), {
    server: [bc, ku, eku, ids.subjectAltName, ...told],
    client: [bc, ku, eku, ids.subjectAltName, ...told],
    codeSigning: [bc, ku, eku, ids.noRevAvail],
    authority: [bc, ku, ids.nameConstraints, ids.certificatePolicies, ...told],
    ocspResponder: [bc, ku, eku, ids.authorityInformationAccess, ids.ocspNoCheck],
    spiffe: [bc, ku, eku, ids.subjectAltName, ...told],
  })
})

test('properties that the profile does not allow are refused', () => {
  const refused = (name: ProfileName, wish: Partial<ProfileWish>, code = 'invalid_value') =>
    assert.throws(
      () => profileExtensions(name, { spki, ...wish }),
      { name: 'PkiError', code },
      JSON.stringify(wish),
    )
  refused('server', {})
  refused('server', { names: [generalName('email:a@b')] })
  refused('server', { names: dns, pathLength: 0 })
  refused('server', { names: dns, permitted: [constraintName('DNS:a')] })
  refused('client', { subjectIsEmpty: true })
  refused('spiffe', { names: dns })
  refused('spiffe', { names: [generalName('URI:https://a.example/')] })
  refused('spiffe', { names: [spiffeName('spiffe://a/b'), spiffeName('spiffe://a/c')] })
  refused('authority', { pathLength: -1 })
  refused('authority', { pathLength: 1.5 })
  // RFC 9608 §3
  refused('authority', { noRevocation: true })
  refused('server', { names: dns, noRevocation: true, crlUrls: addresses.crlUrls })
  for (const url of ['ldap://a/', 'http://a b/', 'http://ü/', 'file:///x', `http://${'a'.repeat(3000)}`]) {
    refused('server', { names: dns, crlUrls: [url] })
    refused('server', { names: dns, ocspUrls: [url] })
  }
  for (const type of ['x25519', 'ml-kem-768']) {
    const { spki: weak } = party('weak', type, {})
    for (const name of ['authority', 'codeSigning', 'ocspResponder'] as const)
      refused(name, { spki: weak }, 'unsupported_key')
  }
})

test('RFC 9935 §5, RFC 9295 §3: encapsulation and agreement keys have only that usage', async () => {
  for (const [type, use] of [
    ['ml-kem-512', 'Key Encipherment'],
    ['x25519', 'Key Agreement'],
    ['ml-dsa-44', 'Digital Signature'],
    ['slh-dsa-sha2-128f', 'Digital Signature'],
  ] as const) {
    const subject = party('subject', type, {})
    const extensions = profileExtensions('server', { spki: subject.spki, names: dns })
    const read = readCertificateExtensions(await issue(subject, root, extensions))
    const usage = read.find(({ identifier }) => identifier === ids.keyUsage)?.value
    const bit = {
      'Digital Signature': '03020780',
      'Key Encipherment': '03020520',
      'Key Agreement': '03020308',
    }[use]
    assert.equal(Buffer.from(usage ?? []).toString('hex'), bit, type)
  }
})

test('addresses, constraints and policies are decoded again', () => {
  const extensions = [
    ...profileExtensions('authority', {
      spki,
      ...addresses,
      permitted: [constraintName('DNS:a.example'), constraintName('IP:192.0.2.77/24')],
      excluded: [constraintName('IP:2001:db8::/33')],
    }),
    certificatePolicies(['1.2.3.4', '2.5.29.32.0']),
    policyMappings([['1.2.3', '1.2.4']]),
    policyConstraints({ requireExplicit: 3, inhibitMapping: 0 }),
    inhibitAnyPolicy(7),
  ]
  assert.deepEqual(urlsIn(readCrlDistributionPoints(extensions)), addresses.crlUrls)
  assert.deepEqual(readAuthorityInformationAccess(extensions), {
    ocsp: addresses.ocspUrls,
    caIssuers: addresses.issuerUrls,
  })
  const { permitted, excluded } = readNameConstraints(extensions) ?? { permitted: [], excluded: [] }
  const shown = [...permitted, ...excluded].map(({ kind, value }) => [
    kind,
    Buffer.from(value).toString('hex'),
  ])
  assert.deepEqual(shown, [
    ['DNS', Buffer.from('a.example').toString('hex')],
    ['IP', 'c0000200ffffff00'],
    ['IP', '20010db8000000000000000000000000ffffffff800000000000000000000000'],
  ])
  assert.deepEqual(readCertificatePolicies(extensions), ['1.2.3.4', '2.5.29.32.0'])
  assert.deepEqual(readPolicyMappings(extensions), [['1.2.3', '1.2.4']])
  assert.deepEqual(readPolicyConstraints(extensions), { requireExplicit: 3, inhibitMapping: 0 })
  assert.equal(readInhibitAnyPolicy(extensions), 7)
})

test('invalid networks and SPIFFE IDs are refused', () => {
  const invalid = { code: 'invalid_value' }
  for (const text of [
    'IP:192.0.2.1',
    'IP:192.0.2.0/33',
    'IP:::/129',
    'IP:x/8',
    'IP:192.0.2.0/-1',
    'DNS:',
    'a',
  ])
    assert.throws(() => constraintName(text), invalid, text)
  for (const id of [
    'https://a/b',
    'spiffe://',
    'spiffe:///a',
    'spiffe://A/b',
    'spiffe://a/',
    'spiffe://a//b',
    'spiffe://a/../b',
    'spiffe://a/b?c',
    'spiffe://a:8080/b',
    'spiffe://user@a/b',
    'spiffe://a/%41',
    `spiffe://a/${'b'.repeat(2048)}`,
  ])
    assert.throws(() => spiffeName(id), invalid, id)
  for (const id of ['spiffe://a', 'spiffe://prod.example_1-x/ns/default/sa/Web.1'])
    assert.equal(derElements(spiffeName(id), 'it')[0]?.content.length, id.length)
})

test('property: any text is a valid subtree or SPIFFE ID, or refused with a PkiError', () => {
  const texts = fc.tuple(
    fc.constantFrom('IP:', 'IP:10.0.0.0/', 'IP:::/', 'DNS:', ''),
    fc.string({ maxLength: 12 }),
  )
  fc.assert(
    fc.property(texts, ([kind, text]) => {
      for (const make of [() => constraintName(kind + text), () => spiffeName(`spiffe://${text}`)])
        try {
          make()
        } catch (error) {
          assert.ok(error instanceof PkiError && error.code === 'invalid_value', String(error))
        }
    }),
    { numRuns: 1000 },
  )
})

test('a given serial number is used in the certificate', async () => {
  const make = (serial: Uint8Array) =>
    issueCertificate(
      { subject: root.name, spki, notBefore: 0, notAfter: year, extensions: [], serial },
      toIssuer(root),
    )
  assert.equal(new X509Certificate(await make(Uint8Array.of(0xff, 1))).serialNumber, 'FF01')
  for (const wrong of [
    new Uint8Array(),
    Uint8Array.of(0),
    new Uint8Array(21).fill(1),
    new Uint8Array(20).fill(0x80),
  ])
    await assert.rejects(make(wrong), { code: 'invalid_value' })
})

test('OpenSSL accepts the certificates of each profile for their purpose', {
  skip: missingOpenssl,
}, async () => {
  using folder = opensslFolder()
  const today = Math.floor(Date.now() / 1000) * 1000
  const dates = [today - 86_400_000, today + year] as const
  const rootExtensions = profileExtensions('authority', { spki: root.spki })
  folder.write('root.pem', pem('CERTIFICATE', await issue(root, root, rootExtensions, dates)))
  const purposes: Readonly<Record<ProfileName, readonly string[]>> = {
    server: ['sslserver'],
    client: ['sslclient'],
    codeSigning: [],
    authority: [],
    ocspResponder: ['ocsphelper'],
    spiffe: ['sslserver', 'sslclient'],
  }
  for (const name of Object.keys(profiles) as ProfileName[]) {
    const subject = party(name === 'spiffe' ? '' : name)
    const extensions = profileExtensions(name, { spki: subject.spki, ...wanted[name] })
    folder.write(`${name}.pem`, pem('CERTIFICATE', await issue(subject, root, extensions, dates)))
    const base = ['verify', '-x509_strict', '-CAfile', 'root.pem']
    assert.match(folder.run(...base, `${name}.pem`).text, /: OK/, name)
    for (const purpose of purposes[name])
      assert.match(folder.run(...base, '-purpose', purpose, `${name}.pem`).text, /: OK/, `${name} ${purpose}`)
  }
  assert.match(
    folder.run('verify', '-CAfile', 'root.pem', '-purpose', 'sslserver', 'client.pem').text,
    /unsuitable/,
  )
  const text = folder.run('x509', '-in', 'authority.pem', '-noout', '-text').text
  assert.match(text, /X509v3 Name Constraints: critical\s+Permitted:\s+DNS:example/)
  assert.match(text, /CA:TRUE, pathlen:1/)
  assert.match(text, /OCSP - URI:http:\/\/pki\.example\/ocsp/)
  assert.match(folder.run('x509', '-in', 'ocspResponder.pem', '-noout', '-text').text, /OCSP No Check/)
  assert.match(
    folder.run('x509', '-in', 'spiffe.pem', '-noout', '-text').text,
    /Alternative Name: critical\s+URI:spiffe/,
  )
})
