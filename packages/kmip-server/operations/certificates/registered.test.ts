import assert from 'node:assert/strict'
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
import { makeAuthorities, runSigning, type Started, startKms } from '@warder/kms/testing'
import { readCrl } from '@warder/pki'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, uid, vendorAttribute } from '../../testing/nodes.ts'
import { getCertificate } from '../../testing/requests.ts'

const client = (kms: Started, user = 'alice') => kmipClient(kms.user(user))

const authorityText = '[ v3_ca ]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign'
const authority = vendorAttribute(
  'example',
  'x509-extension',
  byteString(Tag.AttributeValue, Buffer.from(authorityText)),
)
const subject = (cn: string) => textString(Tag.CertificateSubjectCN, cn)
const newKey = [
  enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.ECDSA),
  integer(Tag.CryptographicLength, 256),
]
const link = (type: keyof typeof Enumeration.LinkType, id: string): TtlvNode =>
  structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType[type]),
    textString(Tag.LinkedObjectIdentifier, id),
  ])
const reason = (code: number): TtlvNode =>
  structure(Tag.RevocationReason, [enumeration(Tag.RevocationReasonCode, code)])

async function listed(kms: Started, id: string) {
  const crl = readCrl((await kms.with({}).get(`/public/certificates/${id}/crl`)).bytes)
  return [...crl.entries()].map(({ serial, reason: why }) => [
    Buffer.from(serial).toString('hex').toUpperCase(),
    why,
  ])
}

test('an authority created over KMIP has a register, public addresses and a CRL', async () => {
  await using kms = await startKms({ config: { kms_public_url: 'https://kms.example' } })
  const alice = client(kms)
  const ca = (await alice.do('Certify', [attributes(...newKey, subject('Example CA'), authority)])).id
  const { id } = await alice.do('Certify', [
    attributes(...newKey, subject('kms.example'), link('CertificateLink', ca)),
  ])
  const leaf = await getCertificate(alice, id)
  assert.match(leaf.infoAccess ?? '', /OCSP - URI:https:\/\/kms\.example\/ocsp/)
  const rest = kms.user('alice')
  assert.deepEqual(
    (await rest.get('/v1/pki/authorities')).json.map((each: { id: string }) => each.id),
    [ca],
  )
  const [entry] = (await rest.get(`/v1/pki/authorities/${ca}/certificates`)).json
  assert.deepEqual(
    [entry.id, entry.serial.toUpperCase(), entry.state, entry.profile],
    [id, leaf.serialNumber, 'valid', 'unknown'],
  )
  await alice.do('Revoke', [uid(id), reason(Enumeration.RevocationReasonCode.Superseded)])
  await runSigning(kms)
  assert.deepEqual(await listed(kms, ca), [[leaf.serialNumber, 'superseded']])
  assert.equal((await rest.get(`/v1/pki/certificates/${id}`)).json.state, 'revoked')
  await alice.fails(
    'Revoke',
    [uid(id), reason(Enumeration.RevocationReasonCode.Superseded)],
    'WrongKeyLifecycleState',
  )
})

test('the reasons of RFC 5280 that KMIP lacks come as extensions: a hold and its release', async () => {
  await using kms = await startKms()
  const alice = client(kms)
  const { issuing } = await makeAuthorities(kms.user('alice'))
  const made = [attributes(...newKey, subject('kms.example'), link('CertificateLink', issuing.id))]
  const { id } = await alice.do('Certify', made)
  const { serialNumber } = await getCertificate(alice, id)
  const state = async () => (await kms.user('alice').get(`/v1/pki/certificates/${id}`)).json.state
  await alice.do('Revoke', [uid(id), reason(0x80000001)])
  await runSigning(kms)
  assert.deepEqual(
    [await state(), await listed(kms, issuing.id)],
    ['hold', [[serialNumber, 'certificateHold']]],
  )
  await alice.do('Revoke', [uid(id), reason(0x80000002)])
  await runSigning(kms)
  assert.deepEqual([await state(), await listed(kms, issuing.id)], ['valid', []])
  await alice.do('Revoke', [uid(id), reason(0x80000003)])
  await runSigning(kms)
  assert.deepEqual(
    [await state(), await listed(kms, issuing.id)],
    ['revoked', [[serialNumber, 'aACompromise']]],
  )
  const own = (await alice.do('Certify', [attributes(...newKey, subject('self'))])).id
  await alice.fails('Revoke', [uid(own), reason(0x80000001)], 'InvalidField')
  const pair = await alice.do('Create', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
    attributes(
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
      integer(Tag.CryptographicLength, 128),
      integer(Tag.CryptographicUsageMask, 4),
    ),
  ])
  await alice.fails('Revoke', [uid(pair.id), reason(0x80000001)], 'InvalidField')
})

test("a link to another user's key does not make the caller the owner of an authority", async () => {
  await using kms = await startKms()
  const [alice, mallory] = [client(kms), client(kms, 'mallory')]
  const { issuing } = await makeAuthorities(kms.user('alice'))
  const { kid } = issuing
  const certificate = await getCertificate(alice, issuing.id)
  // A copy of alice's certificate, and of her public key, that name her private key.
  const copy = structure(Tag.Certificate, [
    enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
    byteString(Tag.CertificateValue, certificate.raw),
  ])
  const { id } = await mallory.do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.Certificate),
    attributes(link('PrivateKeyLink', kid)),
    copy,
  ])
  await mallory.do('Activate', [uid(id)])
  await mallory.fails(
    'Certify',
    [attributes(...newKey, subject('x'), link('CertificateLink', id))],
    'ObjectNotFound',
  )
  const own = (await mallory.do('Certify', [attributes(...newKey, subject('Mallory'), authority)])).id
  const renewed = await mallory
    .do('ReCertify', [uid(id), attributes(authority, link('CertificateLink', own))])
    .catch(() => undefined)
  const seen = (await kms.user('mallory').get('/v1/pki/authorities')).json as { readonly kid: string }[]
  assert.ok(
    seen.every((each) => each.kid !== kid),
    String(renewed?.id),
  )
})

test('an authority stops issuing when the right that it was created with is revoked', async () => {
  await using kms = await startKms()
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const { issuing } = await makeAuthorities(alice)
  const change = (verb: string) =>
    alice.post(`/access/${verb}`, {
      unique_identifier: issuing.kid,
      user_id: 'bob',
      operation_types: ['certify'],
    })
  const imported = () =>
    bob.post('/v1/pki/authorities', { certificate: `${issuing.certificate}${chain}`, kid: issuing.kid })
  const chain = (await alice.get(`/v1/pki/authorities/${issuing.id}`)).json.chain
  assert.equal((await imported()).status, 404)
  await change('grant')
  const { id } = (await imported()).json
  const issue = () =>
    bob.post(`/v1/pki/authorities/${id}/certificates`, { alg: 'ES256', names: ['b.example'] })
  assert.equal((await issue()).status, 200)
  await change('revoke')
  const refused = await issue()
  assert.deepEqual([refused.status, refused.json.error], [422, 'crypto_failure'])
})
