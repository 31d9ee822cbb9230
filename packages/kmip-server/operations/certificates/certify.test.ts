import assert from 'node:assert/strict'
import type { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  structure,
  Tag,
  type TagName,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { readBasicConstraints, readCertificateExtensions, readKeyUsage } from '@warder/pki'
import { p256Request, pssRequest, sha1Request } from '@warder/pki/testing'
import { activeSince, inside, linked, mask, nameNode } from '../../testing/keys.ts'
import { type KmipClient, kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, uid, vendorAttribute } from '../../testing/nodes.ts'
import { getAttributes, getCertificate, revocation } from '../../testing/requests.ts'

const { kms, alice } = await startKmipFixture()

function subject(part: string, value: string): TtlvNode {
  return textString(Tag[`CertificateSubject${part}` as TagName], value)
}

const vendor = (name: string, value: TtlvNode) => vendorAttribute('example', name, value)

const days = (count: number) => vendor('requested_validity_days', integer(Tag.AttributeValue, count))
const extensions = (text: string) =>
  vendor('x509-extension', byteString(Tag.AttributeValue, Buffer.from(text)))
const authority = extensions(
  '[ v3_ca ]\nbasicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign',
)

function link(type: keyof typeof Enumeration.LinkType, id: string): TtlvNode {
  return structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType[type]),
    textString(Tag.LinkedObjectIdentifier, id),
  ])
}

function newKey(name: 'ECDSA' | 'RSA' | 'Ed25519', bits?: number): readonly TtlvNode[] {
  return [
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[name]),
    ...(bits === undefined ? [] : [integer(Tag.CryptographicLength, bits)]),
  ]
}

const valueIn = (nodes: readonly TtlvNode[], tag: number) => nodes.find((node) => node.tag === tag)?.value

async function newAuthority(alice: KmipClient, name = 'Example CA'): Promise<string> {
  const { id } = await alice.do('Certify', [
    attributes(...newKey('ECDSA', 256), subject('CN', name), subject('C', 'CH'), authority, days(3650)),
  ])
  return id
}

async function validity(alice: KmipClient, ...members: readonly TtlvNode[]): Promise<unknown> {
  return (await alice.do('Validate', members)).get(Tag.ValidityIndicator)
}

const { Valid, Invalid } = Enumeration.ValidityIndicator

test('Certify creates a self-signed authority with a new pair, and its attributes match its certificate', async () => {
  const id = await newAuthority(alice)
  const x509 = await getCertificate(alice, id)
  assert.ok(x509.verify(x509.publicKey))
  assert.ok(x509.ca)
  assert.equal(x509.subject, 'CN=Example CA\nC=CH')
  const nodes = await getAttributes(alice, id)
  assert.equal(valueIn(nodes, Tag.State), Enumeration.State.Active)
  assert.equal(valueIn(nodes, Tag.CertificateSubjectCN), 'Example CA')
  assert.equal(valueIn(nodes, Tag.CertificateLength), x509.raw.length)
  assert.equal(valueIn(nodes, Tag.DeactivationDate), Math.floor(x509.validToDate.getTime() / 1000))
  const [open, secret] = [linked(nodes, 'PublicKeyLink'), linked(nodes, 'PrivateKeyLink')]
  for (const key of [open, secret])
    assert.equal(linked(await getAttributes(alice, String(key)), 'CertificateLink'), id)
  assert.equal(await validity(alice, uid(id)), Valid)
})

test('an authority certifies a stored public key, and Validate accepts the chain only during its validity', async () => {
  const ca = await newAuthority(alice)
  const pair = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, newKey('RSA', 2048)),
    structure(Tag.PrivateKeyAttributes, [mask('Sign'), activeSince]),
    structure(Tag.PublicKeyAttributes, [mask('Verify'), activeSince]),
  ])
  const open = pair.get(Tag.PublicKeyUniqueIdentifier) as string
  const { id } = await alice.do('Certify', [
    uid(open),
    attributes(
      link('CertificateLink', ca),
      subject('CN', 'kms.example'),
      extensions('subjectAltName=DNS:kms.example,IP:192.0.2.1,IP:2001:db8::1'),
      days(30),
      nameNode('server certificate'),
    ),
  ])
  const [leaf, root] = [await getCertificate(alice, id), await getCertificate(alice, ca)]
  assert.ok(leaf.checkIssued(root) && leaf.verify(root.publicKey))
  assert.equal(leaf.subjectAltName, 'DNS:kms.example, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1')
  assert.ok(!leaf.ca)
  assert.equal(Math.round((leaf.validToDate.getTime() - leaf.validFromDate.getTime()) / 86_400_000), 30)
  const nodes = await getAttributes(alice, id)
  assert.equal(linked(nodes, 'CertificateLink'), ca)
  assert.equal(linked(nodes, 'PublicKeyLink'), open)
  assert.equal(linked(nodes, 'PrivateKeyLink'), pair.get(Tag.PrivateKeyUniqueIdentifier))

  const sent = (x509: X509Certificate) =>
    structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, x509.raw),
    ])
  const at = (seconds: number) => dateTime(Tag.ValidityDate, seconds)
  const begin = Math.floor(leaf.validFromDate.getTime() / 1000)
  assert.equal(await validity(alice, uid(id)), Valid)
  assert.equal(await validity(alice, sent(root), sent(leaf)), Valid)
  assert.equal(await validity(alice, sent(leaf)), Valid, 'its issuer is here')
  assert.equal(await validity(alice, uid(id), at(begin - 10)), Invalid)
  assert.equal(await validity(alice, uid(id), at(begin + 31 * 86_400)), Invalid)
  const other = await getCertificate(alice, await newAuthority(alice))
  assert.equal(await validity(alice, sent(leaf), sent(other)), Invalid)
  assert.equal(await validity(alice, byteString(Tag.Certificate, Buffer.from('none'))), Invalid)
  // A certificate that was issued to an end is no authority, and a path length of 0 allows none below.
  await alice.fails(
    'Certify',
    [attributes(...newKey('ECDSA', 256), subject('CN', 'x'), link('CertificateLink', id))],
    'InvalidField',
  )
  await alice.fails(
    'Certify',
    [
      attributes(
        ...newKey('ECDSA', 256),
        subject('CN', 'below'),
        link('CertificateLink', ca),
        extensions('basicConstraints=critical,CA:TRUE'),
      ),
    ],
    'InvalidField',
  )
  await alice.do('Revoke', [uid(ca), revocation('CessationOfOperation')])
  assert.equal(await validity(alice, uid(id)), Invalid)
})

test('a request in DER or PEM is certified with its names, and a requested CA flag is ignored', async () => {
  const ca = await newAuthority(alice)
  const pem = Buffer.from(
    `-----BEGIN CERTIFICATE REQUEST-----\n${p256Request.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`,
  )
  for (const [value, type] of [
    [p256Request, 'PKCS_10'],
    [pem, 'PEM'],
    [pem, undefined],
    [pssRequest, 'PKCS_10'],
  ] as const) {
    const { id } = await alice.do('Certify', [
      type === undefined
        ? undefined
        : enumeration(Tag.CertificateRequestType, Enumeration.CertificateRequestType[type]),
      byteString(Tag.CertificateRequestValue, value),
      attributes(link('CertificateLink', ca)),
    ] as TtlvNode[])
    const x509 = await getCertificate(alice, id)
    assert.equal(x509.subject, 'C=CH\nCN=request.example')
    assert.equal(x509.subjectAltName, 'DNS:request.example')
    const read = readCertificateExtensions(x509.raw)
    assert.equal(readBasicConstraints(read).authority, false)
    assert.equal(readKeyUsage(read)?.includes('keyCertSign'), false)
  }
})

test('a CertificateRequest object is certified by its identifier', async () => {
  const ca = await newAuthority(alice)
  const kept = await alice.do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.CertificateRequest),
    attributes(mask()),
    structure(Tag.CertificateRequest, [
      enumeration(Tag.CertificateRequestType, Enumeration.CertificateRequestType.PKCS_10),
      byteString(Tag.CertificateRequestValue, p256Request),
    ]),
  ])
  const { id } = await alice.do('Certify', [
    uid(kept.id),
    attributes(link('CertificateLink', ca), subject('CN', 'renamed')),
  ])
  assert.equal((await getCertificate(alice, id)).subject, 'CN=renamed')
  assert.equal(await validity(alice, uid(id)), Valid)
  await alice.do('Destroy', [uid(kept.id)])
  await alice.fails('Certify', [uid(kept.id), attributes(link('CertificateLink', ca))], 'ObjectDestroyed')
})

test('invalid and weak requests and requests of other types are refused by name', async () => {
  const ca = await newAuthority(alice)
  const ask = (value: Uint8Array, ...more: readonly TtlvNode[]) => [
    ...more,
    byteString(Tag.CertificateRequestValue, value),
    attributes(link('CertificateLink', ca)),
  ]
  const changed = Buffer.from(p256Request)
  changed[60] = (changed[60] ?? 0) ^ 1
  await alice.fails('Certify', ask(changed), 'InvalidCSR')
  await alice.fails('Certify', ask(sha1Request), 'InvalidCSR')
  await alice.fails('Certify', ask(Buffer.from('nothing')), 'InvalidCSR')
  const crmf = enumeration(Tag.CertificateRequestType, Enumeration.CertificateRequestType.CRMF)
  assert.match(await alice.fails('Certify', ask(p256Request, crmf), 'FeatureNotSupported'), /CRMF/)
  // Only the holder of the key can sign for it, and the key is not stored here.
  await alice.fails('Certify', [byteString(Tag.CertificateRequestValue, p256Request)], 'InvalidField')
  await alice.fails('Certify', [attributes(subject('CN', 'nobody'))], 'MissingData')
  await alice.fails('Certify', [attributes(...newKey('ECDSA', 256))], 'InvalidField')
  const unknown = attributes(...newKey('ECDSA', 256), subject('CN', 'x'), extensions('nameConstraints=x'))
  await alice.fails('Certify', [unknown], 'InvalidField')
})

test('another user can neither issue with an authority nor validate its stored certificates', async () => {
  const mallory = kmipClient(kms.user('mallory'))
  const ca = await newAuthority(alice)
  const wish = attributes(...newKey('ECDSA', 256), subject('CN', 'x'), link('CertificateLink', ca))
  await mallory.fails('Certify', [wish], 'ObjectNotFound')
  await mallory.fails('ReCertify', [uid(ca)], 'ObjectNotFound')
  await mallory.fails('Validate', [uid(ca)], 'ObjectNotFound')
})

test('a renewed certificate has the same issuer and key, and takes over the Name', async () => {
  const ca = await newAuthority(alice)
  const { id } = await alice.do('Certify', [
    attributes(
      ...newKey('Ed25519'),
      link('CertificateLink', ca),
      subject('CN', 'renewed.example'),
      extensions('subjectAltName=DNS:renewed.example'),
      days(10),
      nameNode('renewed'),
    ),
  ])
  const made = await alice.do('ReCertify', [uid(id), interval(Tag.Offset, 3600)])
  const [old, fresh, root] = [
    await getCertificate(alice, id),
    await getCertificate(alice, made.id),
    await getCertificate(alice, ca),
  ]
  assert.ok(fresh.checkIssued(root) && fresh.verify(root.publicKey), 'not signed by itself')
  assert.ok(fresh.publicKey.equals(old.publicKey))
  assert.notEqual(fresh.serialNumber, old.serialNumber)
  assert.equal(fresh.subjectAltName, old.subjectAltName)
  assert.equal(
    fresh.validToDate.getTime() - fresh.validFromDate.getTime(),
    old.validToDate.getTime() - old.validFromDate.getTime(),
  )
  const [before, after] = [await getAttributes(alice, id), await getAttributes(alice, made.id)]
  assert.equal(linked(before, 'ReplacementObjectLink'), made.id)
  assert.equal(linked(after, 'ReplacedObjectLink'), id)
  assert.equal(linked(after, 'CertificateLink'), ca)
  assert.equal(valueIn(before, Tag.Name), undefined)
  assert.equal(
    inside(
      after.find(({ tag }) => tag === Tag.Name),
      Tag.NameValue,
    )?.value,
    'renewed',
  )
  assert.equal(valueIn(after, Tag.State), Enumeration.State.PreActive)
  const key = linked(after, 'PrivateKeyLink')
  assert.equal(linked(await getAttributes(alice, String(key)), 'CertificateLink'), made.id)
  await alice.fails('ReCertify', [uid(id)], 'WrongKeyLifecycleState')
  const root2 = await alice.do('ReCertify', [uid(ca)])
  assert.equal(await validity(alice, uid(root2.id)), Valid)
})
