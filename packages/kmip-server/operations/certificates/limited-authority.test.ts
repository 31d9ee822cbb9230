import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import {
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { grant, makeAuthorities, outsider } from '@warder/kms/testing'
import {
  basicConstraints,
  certificateSigner,
  createExtendedKeyUsage,
  type Extension,
  generalName,
  issueCertificate,
  issueRequest,
  keyPurposes,
  keyUsage,
  nameFromText,
  readBasicConstraints,
  readCertificateExtensions,
  readExtendedKeyUsage,
  readKeyUsage,
  subjectAltName,
} from '@warder/pki'
import { ocspNoCheck } from '@warder/pki/testing'
import { keyOf, linked, mask } from '../../testing/keys.ts'
import type { KmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, uid, vendorAttribute } from '../../testing/nodes.ts'
import { getAttributes, getCertificate } from '../../testing/requests.ts'
import { link } from '../objects/replacement.ts'

/** Of alice: certificates of servers alone, for 30 days at most; bob may certify. */
/** Of alice, without limits; bob may certify. */
const { kms, alice, bob } = await startKmipFixture({ config: { kms_public_url: 'https://kms.example' } })
const limited = await makeAuthorities(kms.user('alice'), {
  profiles: ['server'],
  max_days: 30,
  path_length: 3,
})
const free = await makeAuthorities(kms.user('alice'), { subject: 'CN=Free, O=Acme', path_length: 3 })
for (const { issuing } of [limited, free]) await grant(kms.user('alice'), issuing.id, 'bob', 'certify')

const named = (name: string) => textString(Tag.CertificateSubjectCN, name)
const days = (count: number) =>
  vendorAttribute('example', 'requested_validity_days', integer(Tag.AttributeValue, count))
const text = (...lines: readonly string[]) =>
  vendorAttribute('example', 'x509-extension', textString(Tag.AttributeValue, lines.join('\n')))
const createCsr = (value: string) => byteString(Tag.CertificateRequestValue, Buffer.from(value))

const certify = (client: KmipClient, issuer: string, ...more: readonly TtlvNode[]) =>
  client.do('Certify', [
    attributes(...keyOf('ECDSA', 256), link('CertificateLink', issuer), days(10), ...more),
  ])
const refused = (client: KmipClient, issuer: string, ...more: readonly TtlvNode[]) =>
  client.fails(
    'Certify',
    [attributes(...keyOf('ECDSA', 256), link('CertificateLink', issuer), days(10), ...more)],
    'InvalidField',
  )

const server = 'subjectAltName=DNS:www.example'

test('an authority that is limited to server certificates issues only these over KMIP', async () => {
  const { id } = limited.issuing
  for (const lines of [
    ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'],
    [server, 'basicConstraints=critical,CA:TRUE'],
    [server, 'extendedKeyUsage=clientAuth'],
    [server, 'extendedKeyUsage=serverAuth,clientAuth'],
    [server, 'extendedKeyUsage=serverAuth,1.2.3.4'],
    ['subjectAltName=email:a@www.example', 'extendedKeyUsage=serverAuth'],
    ['extendedKeyUsage=serverAuth'],
    [server, 'crlDistributionPoints=URI:http://elsewhere.example/crl'],
  ])
    await refused(bob, id, named('x'), text(...lines))
  // The common name of a server is one of its names.
  await refused(bob, id, named('other.example'), text(server, 'extendedKeyUsage=serverAuth'))
  for (const lines of [[server], [server, 'extendedKeyUsage=serverAuth']]) {
    const made = await certify(bob, id, named('www.example'), text(...lines))
    const extensions = readCertificateExtensions((await getCertificate(bob, made.id)).raw)
    assert.deepEqual(readExtendedKeyUsage(extensions), [keyPurposes.serverAuth])
  }
  await bob.fails(
    'Certify',
    [attributes(...keyOf('ECDSA', 256), link('CertificateLink', id), days(31), named('x'), text(server))],
    'InvalidField',
  )
})

test('Certify issues no certificate for OCSP responders or CRL signers of an authority', async () => {
  for (const { issuing } of [limited, free])
    for (const lines of [
      ['extendedKeyUsage=OCSPSigning'],
      ['extendedKeyUsage=1.3.6.1.5.5.7.3.9'],
      ['extendedKeyUsage=2.5.29.37.0'],
      ['extendedKeyUsage=serverAuth,OCSPSigning'],
      ['basicConstraints=critical,CA:TRUE', 'extendedKeyUsage=OCSPSigning'],
      ['keyUsage=critical,digitalSignature,cRLSign'],
      ['keyUsage=keyCertSign'],
      ['keyUsage=digitalSignature', 'keyUsage=cRLSign'],
      ['extendedKeyUsage=serverAuth', 'extendedKeyUsage=OCSPSigning'],
    ])
      for (const client of [alice, bob]) await refused(client, issuing.id, named('x'), text(server, ...lines))
  const { privateKey, publicKey } = pair()
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  for (const extensions of [
    [createExtendedKeyUsage([keyPurposes.OCSPSigning])],
    [createExtendedKeyUsage([keyPurposes.serverAuth]), createExtendedKeyUsage([keyPurposes.OCSPSigning])],
  ]) {
    const value = await issueRequest(
      {
        subject: nameFromText('CN=x'),
        spki,
        extensions: [...extensions, subjectAltName([generalName('DNS:x')])],
      },
      certificateSigner(privateKey, spki),
    )
    const request = byteString(Tag.CertificateRequestValue, value)
    for (const { issuing } of [limited, free]) {
      const { status } = await bob.ask('Certify', [request, attributes(link('CertificateLink', issuing.id))])
      assert.equal(status, 'OperationFailed')
    }
  }
  // Another key in the name of the authority, in whatever case, could sign lists for it.
  const authority = 'basicConstraints=critical,CA:TRUE'
  for (const name of ['Issuing', 'ISSUING ', 'Root'])
    await refused(
      alice,
      free.issuing.id,
      textString(Tag.CertificateSubjectO, 'acme'),
      named(name),
      text(authority),
    )
})

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** A certificate of bob's own making, stored as an object. */
async function registered(extensions: readonly Extension[]): Promise<string> {
  const name = nameFromText('CN=own')
  const { privateKey, publicKey } = pair()
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const now = Date.now()
  const der = await issueCertificate(
    { subject: name, spki, notBefore: now - 1000, notAfter: now + 86_400_000, extensions },
    { name, key: privateKey, spki, keyIdentifier: undefined },
  )
  const { id } = await bob.do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.Certificate),
    attributes(mask()),
    structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, der),
    ]),
  ])
  return id
}

test('ReCertify does not copy extensions that the issuer does not permit', async () => {
  const names = subjectAltName([generalName('DNS:www.example')])
  const forms: readonly (readonly Extension[])[] = [
    [basicConstraints(true), keyUsage(['keyCertSign', 'cRLSign'])],
    [
      basicConstraints(false),
      keyUsage(['digitalSignature']),
      createExtendedKeyUsage([keyPurposes.OCSPSigning]),
      names,
    ],
    [basicConstraints(false), keyUsage(['digitalSignature', 'cRLSign']), names],
    [basicConstraints(false), keyUsage(['digitalSignature']), ocspNoCheck, names],
  ]
  for (const extensions of forms) {
    const id = await registered(extensions)
    for (const operation of ['ReCertify', 'Certify'] as const) {
      const wish = [uid(id), attributes(link('CertificateLink', limited.issuing.id), days(10))]
      await bob.fails(operation, wish, 'InvalidField')
    }
  }
})

test('an authority keeps its limits when its certificate is renewed or issued again over KMIP', async () => {
  const { id, kid } = limited.issuing
  const renewed = await alice.do('ReCertify', [uid(id)])
  await grant(kms.user('alice'), renewed.id, 'bob', 'certify')
  await refused(bob, renewed.id, named('x'), text(server, 'extendedKeyUsage=clientAuth'))
  await certify(bob, renewed.id, named('www.example'), text(server))
  const shown = (await kms.user('alice').get(`/v1/pki/authorities/${renewed.id}`)).json
  assert.deepEqual([shown.profiles, shown.max_days], [['server'], 30])

  // A user who may certify with the key is also bound by the authority's limits, and cannot create a second authority without them.
  await grant(kms.user('alice'), kid, 'bob', 'certify')
  const open = String(linked(await getAttributes(alice, kid), 'PublicKeyLink'))
  await grant(kms.user('alice'), open, 'bob', 'certify')
  const { certificate, chain } = (await kms.user('alice').get(`/v1/pki/authorities/${id}`)).json
  const asRoot = await kms.user('bob').post('/v1/pki/authorities', { kid, subject: 'CN=Issuing, O=Acme' })
  const imported = await kms
    .user('bob')
    .post('/v1/pki/authorities', { kid, certificate: certificate + chain })
  assert.deepEqual([asRoot.status, imported.status], [403, 403], asRoot.text)
  await bob.fails(
    'Certify',
    [uid(open), attributes(named('Issuing'), text('basicConstraints=critical,CA:TRUE'))],
    'PermissionDenied',
  )
  const copy = await bob.do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.Certificate),
    attributes(link('PrivateKeyLink', kid)),
    structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, new X509Certificate(certificate).raw),
    ]),
  ])
  await bob.do('Activate', [uid(copy.id)])
  await bob.fails(
    'Certify',
    [attributes(...keyOf('ECDSA', 256), named('x'), link('CertificateLink', copy.id))],
    'PermissionDenied',
  )
})

test('an authority without limits issues the requested extensions, and adds the addresses of the service', async () => {
  const made = await certify(
    bob,
    free.issuing.id,
    named('mixed'),
    text('extendedKeyUsage=clientAuth,emailProtection', 'subjectAltName=email:a@b.example'),
  )
  const certificate = await getCertificate(bob, made.id)
  const extensions = readCertificateExtensions(certificate.raw)
  assert.deepEqual(readExtendedKeyUsage(extensions), [keyPurposes.clientAuth, keyPurposes.emailProtection])
  assert.equal(readBasicConstraints(extensions).authority, false)
  assert.deepEqual(readKeyUsage(extensions), ['digitalSignature'])
  assert.match(certificate.infoAccess ?? '', /kms\.example\/ocsp/)
  const { csr } = await outsider('CN=www.example', ['DNS:www.example'])
  const plain = await bob.do('Certify', [
    createCsr(csr),
    attributes(link('CertificateLink', limited.issuing.id), days(10)),
  ])
  assert.deepEqual(
    readExtendedKeyUsage(readCertificateExtensions((await getCertificate(bob, plain.id)).raw)),
    [keyPurposes.serverAuth],
  )
})
