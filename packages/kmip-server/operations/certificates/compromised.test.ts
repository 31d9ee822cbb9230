import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { findLinkTarget, findObject } from '@warder/keys'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  interval,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmsService } from '@warder/kms'
import { certificateSigner, issueRequest, nameFromText } from '@warder/pki'
import { activeSince, inside, keyBlock, keyOf, linked, mask, wanted } from '../../testing/keys.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid, vendorAttribute } from '../../testing/nodes.ts'
import { getAttributes } from '../../testing/requests.ts'
import { link } from '../objects/replacement.ts'

// A key whose private half was reported as compromised is certified by no interface (docs/adr/certificate-authorities.md), also
// where another object with the same key is Active: here a copy of the key is revoked.

const day = 86_400_000
let now = Date.now()
const { kms, alice } = await startKmipFixture({
  clock: { now: () => now, monotonic: () => performance.now() },
})

interface Certified {
  readonly id: string
  readonly privateKey: string
  readonly publicKey: string
}

/** A certificate of a new pair: self-signed, or issued by an authority. */
async function certify(name: string, ...more: readonly TtlvNode[]): Promise<Certified> {
  const subject = textString(Tag.CertificateSubjectCN, name)
  const { id } = await alice.do('Certify', [attributes(...keyOf('ECDSA', 256), subject, ...more)])
  const held = await getAttributes(alice, id)
  const [privateKey, publicKey] = (['PrivateKeyLink', 'PublicKeyLink'] as const).map((kind) =>
    linked(held, kind),
  )
  return { id, privateKey: privateKey as string, publicKey: publicKey as string }
}

const newAuthority = (name: string) =>
  certify(
    name,
    vendorAttribute(
      'example',
      'x509-extension',
      textString(Tag.AttributeValue, 'basicConstraints=critical,CA:TRUE'),
    ),
  )

async function getPkcs8(privateKey: string): Promise<Buffer> {
  const { nodes } = await alice.do('Get', [uid(privateKey), wanted('PKCS_8')])
  const value = inside(nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value
  return Buffer.from(value as Uint8Array)
}

/** Reports the key as compromised with a copy of it; the objects of the pair stay Active. */
async function reportKey({ privateKey }: Certified): Promise<void> {
  const { id } = await alice.do('Register', [
    objectType('PrivateKey'),
    attributes(mask('Sign'), activeSince),
    structure(Tag.PrivateKey, [keyBlock('PKCS_8', await getPkcs8(privateKey))]),
  ])
  const code = Enumeration.RevocationReasonCode.KeyCompromise
  await alice.do('Revoke', [
    uid(id),
    structure(Tag.RevocationReason, [enumeration(Tag.RevocationReasonCode, code)]),
  ])
}

async function makeRequest({ privateKey }: Certified): Promise<Buffer> {
  const key = createPrivateKey({ key: await getPkcs8(privateKey), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return issueRequest(
    { subject: nameFromText('CN=asked'), spki, extensions: [] },
    certificateSigner(key, spki),
  )
}

async function registerRequest(request: Buffer): Promise<string> {
  const { id } = await alice.do('Register', [
    objectType('CertificateRequest'),
    attributes(mask()),
    structure(Tag.CertificateRequest, [
      enumeration(Tag.CertificateRequestType, Enumeration.CertificateRequestType.PKCS_10),
      byteString(Tag.CertificateRequestValue, request),
    ]),
  ])
  return id
}

const subject = textString(Tag.CertificateSubjectCN, 'again')

test('Certify and ReCertify refuse a compromised key, however it is given', async () => {
  const authority = await newAuthority('root of ways')
  const issuer = link('CertificateLink', authority.id)
  const [own, issued] = [await certify('own'), await certify('issued', issuer)]
  const asked = await makeRequest(issued)
  const kept = textString(Tag.CertificateRequestUniqueIdentifier, await registerRequest(asked))
  const ways: readonly (readonly [string, 'Certify' | 'ReCertify', readonly TtlvNode[]])[] = [
    ['a public key, self-signed', 'Certify', [uid(own.publicKey), attributes(subject)]],
    ['a public key, by an authority', 'Certify', [uid(issued.publicKey), attributes(subject, issuer)]],
    ['a certificate, self-signed', 'Certify', [uid(own.id), attributes(subject)]],
    ['a certificate, by an authority', 'Certify', [uid(issued.id), attributes(subject, issuer)]],
    [
      'a request, by an authority',
      'Certify',
      [byteString(Tag.CertificateRequestValue, asked), attributes(issuer)],
    ],
    ['a kept request, by an authority', 'Certify', [kept, attributes(issuer)]],
    ['a self-signed certificate', 'ReCertify', [uid(own.id), interval(Tag.Offset, 0)]],
    ['a certificate of an authority', 'ReCertify', [uid(issued.id), interval(Tag.Offset, 0)]],
    [
      'a certificate with a request',
      'ReCertify',
      [uid(issued.id), byteString(Tag.CertificateRequestValue, asked), interval(Tag.Offset, 0)],
    ],
  ]
  for (const [name, operation, payload] of ways.filter(([, operation]) => operation === 'Certify'))
    assert.equal((await alice.ask(operation, payload)).status, 'Success', name)
  for (const one of [own, issued]) await reportKey(one)
  for (const [name, operation, payload] of ways) {
    const { reason, message } = await alice.ask(operation, payload)
    assert.equal(reason, 'InvalidField', `${name}: ${message}`)
    assert.match(message ?? '', /reported as compromised/, name)
  }
})

test('an authority whose key was reported as compromised with another certificate issues nothing and is not renewed', async () => {
  const authority = await newAuthority('root that was lost')
  const issuer = link('CertificateLink', authority.id)
  const { id } = await certify('before', issuer)
  await reportKey(authority)
  const payload = [attributes(...keyOf('ECDSA', 256), subject, issuer)]
  assert.match(await alice.fails('Certify', payload, 'InvalidField'), /key of the authority was reported/)
  assert.match(
    await alice.fails('ReCertify', [uid(id), interval(Tag.Offset, 0)], 'InvalidField'),
    /key of the authority was reported/,
  )
  const user = kms.user('alice')
  const names = ['other.example']
  const rest = await user.post(`/v1/pki/authorities/${authority.id}/certificates`, { names, alg: 'ES256' })
  assert.equal(rest.status, 400, rest.text)
  const root = await user.post('/v1/pki/authorities', { subject: 'CN=next', kid: authority.privateKey })
  assert.equal(root.status, 400, root.text)
  assert.match(root.json.description, /reported as compromised/)
  // Issued certificates can still be revoked and listed.
  const code = Enumeration.RevocationReasonCode.CACompromise
  await alice.do('Revoke', [
    uid(id),
    structure(Tag.RevocationReason, [enumeration(Tag.RevocationReasonCode, code)]),
  ])
})

test('automatic renewal skips certificates with a compromised key', async () => {
  const authority = await newAuthority('root of renewals')
  const issuer = link('CertificateLink', authority.id)
  const all = [await certify('own'), await certify('issued', issuer), await certify('fine')] as const
  const [own, issued, fine] = all
  for (const { id } of all)
    await alice.do('SetAttribute', [
      uid(id),
      structure(Tag.NewAttribute, [boolean(Tag.RotateAutomatic, true)]),
    ])
  for (const one of [own, issued]) await reportKey(one)
  now += 300 * day
  const job = kmsService.periodic.find(({ name }) => name.includes('renew themselves'))
  if (await job?.due?.(kms.environment)) await job?.run(kms.environment)
  const replaced = await Promise.all(
    [own, issued, fine].map(async ({ id }) => {
      const object = await findObject(kms.environment.db, id as never)
      return object !== undefined && findLinkTarget(object, 'ReplacementObjectLink') !== undefined
    }),
  )
  assert.deepEqual(replaced, [false, false, true])
})
