import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  interval,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { grant } from '@warder/kms/testing'
import { p256Request } from '@warder/pki/testing'
import { keyOf, linked, mask } from '../../testing/keys.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, uid, vendorAttribute } from '../../testing/nodes.ts'
import { getAttributes, getCertificate, revocation } from '../../testing/requests.ts'
import { link } from '../objects/replacement.ts'

let now = Date.now()
const { kms, alice, bob } = await startKmipFixture({
  clock: { now: () => now, monotonic: () => performance.now() },
})

const named = (name: string) => textString(Tag.CertificateSubjectCN, name)

const vendor = (name: string, value: string) =>
  vendorAttribute('example', name, textString(Tag.AttributeValue, value))

/** A certificate of a new pair: self-signed, or issued by an authority. */
async function certified(name: string, ...more: readonly TtlvNode[]): Promise<string> {
  return (await alice.do('Certify', [attributes(...keyOf('ECDSA', 256), named(name), ...more)])).id
}

const newAuthority = () =>
  certified(
    'root',
    vendor('x509-extension', 'basicConstraints=critical,CA:TRUE'),
    vendor('requested_validity_days', '3650'),
  )

async function registeredRequest(): Promise<string> {
  const { id } = await alice.do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.CertificateRequest),
    attributes(mask()),
    structure(Tag.CertificateRequest, [
      enumeration(Tag.CertificateRequestType, Enumeration.CertificateRequestType.PKCS_10),
      byteString(Tag.CertificateRequestValue, p256Request),
    ]),
  ])
  return id
}

/** Seconds from which on until when it is valid: as the object says, and as the certificate says. */
async function listPeriods(id: string): Promise<readonly [attributes: unknown[], x509: number[]]> {
  const held = await getAttributes(alice, id)
  const dates = [Tag.ActivationDate, Tag.DeactivationDate] as const
  const { validFromDate, validToDate } = await getCertificate(alice, id)
  return [
    dates.map((date) => held.find(({ tag }) => tag === date)?.value),
    [validFromDate, validToDate].map((date) => date.getTime() / 1000),
  ]
}

test('KMIP 2.1 §6.1.45: a stored request supplies subject and key of the new certificate', async () => {
  const issuer = link('CertificateLink', await newAuthority())
  const kept = textString(Tag.CertificateRequestUniqueIdentifier, await registeredRequest())
  const asked = await alice.do('Certify', [kept, attributes(issuer)])
  const first = await getCertificate(alice, asked.id)
  const id = await certified('old', issuer)
  const made = await alice.do('ReCertify', [uid(id), kept])
  const renewed = await getCertificate(alice, made.id)
  for (const { subject, subjectAltName, publicKey } of [first, renewed]) {
    assert.equal(subject, 'C=CH\nCN=request.example')
    assert.equal(subjectAltName, 'DNS:request.example')
    assert.ok(publicKey.equals(first.publicKey))
  }
  const both = [kept, byteString(Tag.CertificateRequestValue, p256Request), attributes(issuer)]
  await alice.fails('Certify', both, 'InvalidField')
  const other = [textString(Tag.CertificateRequestUniqueIdentifier, id), attributes(issuer)]
  await alice.fails('Certify', other, 'InvalidObjectType')
})

test('a stored request can be named only by users who may certify with it', async () => {
  const ca = await newAuthority()
  await grant(kms.user('alice'), ca, 'bob', 'certify')
  const request = await registeredRequest()
  const ask = [
    textString(Tag.CertificateRequestUniqueIdentifier, request),
    attributes(link('CertificateLink', ca)),
  ]
  await bob.fails('Certify', ask, 'ObjectNotFound')
  await grant(kms.user('alice'), request, 'bob', 'certify')
  await bob.do('Certify', ask)
})

test('the keys are linked to the renewed certificate if the caller has rekey on it and certify on its issuer', async () => {
  const id = await certified('renewed')
  const held = await getAttributes(alice, id)
  const keys = [String(linked(held, 'PublicKeyLink')), String(linked(held, 'PrivateKeyLink'))]
  for (const each of [id, ...keys]) await grant(kms.user('alice'), each, 'bob', 'certify', 'getattributes')
  await bob.fails('ReCertify', [uid(id)], 'PermissionDenied')
  await grant(kms.user('alice'), id, 'bob', 'rekey')
  const made = await bob.do('ReCertify', [uid(id)])
  for (const key of keys) assert.equal(linked(await getAttributes(alice, key), 'CertificateLink'), made.id)
  assert.equal(linked(await getAttributes(alice, made.id), 'ReplacedObjectLink'), id)
})

test('the renewal of a certificate does not change keys that are linked to another certificate', async () => {
  const ca = await newAuthority()
  const victim = await certified('of another key')
  const other = String(linked(await getAttributes(alice, victim), 'PublicKeyLink'))
  const { nodes } = await alice.do('Get', [uid(await certified('lent', link('CertificateLink', ca)))])
  const certificate = nodes.find(({ tag }) => tag === Tag.Certificate)
  const { id } = await alice.do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.Certificate),
    attributes(mask(), link('PublicKeyLink', other), link('CertificateLink', ca)),
    certificate,
  ])
  await grant(kms.user('alice'), ca, 'bob', 'certify')
  await grant(kms.user('alice'), id, 'bob', 'rekey')
  await bob.do('ReCertify', [uid(id)])
  assert.equal(linked(await getAttributes(alice, other), 'CertificateLink'), victim)
})

test('the right to renew permits no other issuer, key or contents; an authority keeps its issuer', async () => {
  const ca = await newAuthority()
  const id = await certified('www', link('CertificateLink', ca))
  const key = String(linked(await getAttributes(alice, id), 'PrivateKeyLink'))
  await grant(kms.user('alice'), id, 'bob', 'rekey', 'certify')
  await grant(kms.user('alice'), ca, 'bob', 'certify')
  const own = await bob.do('Certify', [
    attributes(
      ...keyOf('ECDSA', 256),
      named('Mallory'),
      vendor('x509-extension', 'basicConstraints=critical,CA:TRUE'),
    ),
  ])
  const request = byteString(Tag.CertificateRequestValue, p256Request)
  const wishes: readonly (readonly TtlvNode[])[] = [
    [attributes(link('CertificateLink', own.id))],
    [attributes(named('other'))],
    [attributes(vendor('x509-extension', 'extendedKeyUsage=codeSigning'))],
    [request],
  ]
  for (const wish of wishes) await bob.fails('ReCertify', [uid(id), ...wish], 'PermissionDenied')
  assert.equal(linked(await getAttributes(alice, key), 'CertificateLink'), id)
  assert.equal(linked(await getAttributes(alice, id), 'ReplacementObjectLink'), undefined)
  // The owner may, but not of an authority.
  const other = await newAuthority()
  const below = await certified(
    'below',
    link('CertificateLink', ca),
    vendor('x509-extension', 'basicConstraints=critical,CA:TRUE'),
  )
  for (const authority of [ca, below])
    await alice.fails(
      'ReCertify',
      [uid(authority), attributes(link('CertificateLink', other), named('below another'))],
      'InvalidField',
    )
  const moved = await alice.do('ReCertify', [uid(id), attributes(link('CertificateLink', other))])
  assert.equal(linked(await getAttributes(alice, key), 'CertificateLink'), moved.id)
  assert.ok((await alice.do('ReCertify', [uid(below)])).id)
  // Another certificate for the key of an authority is no other authority to those who name the key.
  const root = String(linked(await getAttributes(alice, other), 'PrivateKeyLink'))
  const open = String(linked(await getAttributes(alice, other), 'PublicKeyLink'))
  await alice.do('Certify', [
    uid(open),
    attributes(
      link('CertificateLink', ca),
      named('cross'),
      vendor('x509-extension', 'basicConstraints=critical,CA:TRUE'),
    ),
  ])
  for (const half of [root, open])
    assert.equal(linked(await getAttributes(alice, half), 'CertificateLink'), other)
})

test('links do not let a caller sign another key with the key of a self-signed certificate', async () => {
  const ca = await newAuthority()
  const key = String(linked(await getAttributes(alice, ca), 'PrivateKeyLink'))
  await grant(kms.user('alice'), key, 'bob', 'certify')
  const own = await bob.do('Certify', [attributes(...keyOf('ECDSA', 256), named('own'))])
  const { nodes } = await bob.do('Get', [uid(own.id)])
  const { id } = await bob.do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.Certificate),
    attributes(mask(), link('PrivateKeyLink', key)),
    nodes.find(({ tag }) => tag === Tag.Certificate),
  ])
  const forged = vendor('x509-extension', 'basicConstraints=critical,CA:TRUE')
  await bob.fails('Certify', [uid(id), attributes(named('root'), forged)], 'InvalidField')
})

test('KMIP 2.1 §6.1.45: without an offset the new certificate has the dates of the old one', async () => {
  const begin = Math.floor(now / 1000)
  const id = await certified('dated', vendor('requested_validity_days', '1'))
  const end = begin + 86_400
  now += 60_000
  const copied = await alice.do('ReCertify', [uid(id)])
  assert.deepEqual(await listPeriods(copied.id), [
    [begin, end],
    [begin, end],
  ])
  // The attribute is copied, and the certificate agrees with it.
  const sooner = dateTime(Tag.DeactivationDate, end - 3600)
  await alice.do('SetAttribute', [uid(copied.id), structure(Tag.NewAttribute, [sooner])])
  const changed = await alice.do('ReCertify', [uid(copied.id)])
  assert.deepEqual(await listPeriods(changed.id), [
    [begin, end - 3600],
    [begin, end - 3600],
  ])
  const at = Math.floor(now / 1000)
  const moved = await alice.do('ReCertify', [uid(changed.id), interval(Tag.Offset, 0)])
  assert.deepEqual((await listPeriods(moved.id))[1], [at, at + 86_400 - 3600])
})

test('the renewal of a deactivated certificate, and one with a requested number of days, is valid from now on', async () => {
  const id = await certified('over', vendor('requested_validity_days', '1'))
  await alice.do('Revoke', [uid(id), revocation('Superseded')])
  now += 60_000
  const at = Math.floor(now / 1000)
  const made = await alice.do('ReCertify', [uid(id)])
  assert.deepEqual((await listPeriods(made.id))[1], [at, at + 86_400])
  const wish = attributes(vendor('requested_validity_days', '2'))
  const longer = await alice.do('ReCertify', [uid(made.id), wish])
  assert.deepEqual((await listPeriods(longer.id))[1], [at, at + 2 * 86_400])
})
