import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createSecureContext } from 'node:tls'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { readPkcs12 } from '@warder/pki'
import { legacyFile, modernFile } from '@warder/pki/testing'
import { activeSince, inside, keyBlock, linked, mask, wanted } from '../../testing/keys.ts'
import { type KmipClient, kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { getAttributes, passwordObject } from '../../testing/requests.ts'
import { link } from '../objects/replacement.ts'

const { kms, bob, alice } = await startKmipFixture()

async function password(alice: KmipClient, text: string): Promise<string> {
  const { id } = await alice.do('Register', [
    objectType('SecretData'),
    attributes(mask(), activeSince),
    passwordObject(text),
  ])
  return id
}

function register(file: Uint8Array, ...given: readonly TtlvNode[]) {
  return [
    objectType('PrivateKey'),
    attributes(mask('Sign'), activeSince, ...given),
    structure(Tag.PrivateKey, [keyBlock('PKCS_12', file)]),
  ]
}

function fileIn(nodes: readonly TtlvNode[]): Buffer {
  const value = inside(nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value
  assert.ok(value instanceof Uint8Array)
  return Buffer.from(value)
}

test('a PKCS#12 file is imported as a key and a certificate, and exported as a file', async () => {
  for (const [file, text, name] of [
    [modernFile, 'pässwörd', 'Schlüssel'],
    [legacyFile, 'secret', 'old'],
  ] as const) {
    const secret = await password(alice, text)
    const { id } = await alice.do('Register', register(file, link('PKCS_12PasswordLink', secret)))
    const nodes = await getAttributes(alice, id)
    assert.equal(nodes.find(({ tag }) => tag === Tag.PKCS_12FriendlyName)?.value, name)
    const certificate = String(linked(nodes, 'PKCS_12CertificateLink'))
    const described = await getAttributes(alice, certificate)
    assert.equal(described.find(({ tag }) => tag === Tag.CertificateSubjectCN)?.value, 'kms.example')
    const transparent = await alice.do('Get', [uid(id)])
    assert.equal(
      inside(transparent.nodes[2], Tag.KeyBlock, Tag.KeyFormatType)?.value,
      Enumeration.KeyFormatType.TransparentECPrivateKey,
    )
    for (const format of ['PKCS_12', 'PKCS_12Legacy'] as const) {
      const written = fileIn((await alice.do('Get', [uid(id), wanted(format)])).nodes)
      createSecureContext({ pfx: written, passphrase: text })
      const [again, original] = [await readPkcs12(written, text), await readPkcs12(file, text)]
      assert.equal(again.friendlyName, name)
      const key = (der: Uint8Array) =>
        createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' })
      assert.ok(key(again.privateKey).equals(key(original.privateKey)))
      assert.deepEqual(again.certificates.map(Buffer.from), original.certificates.map(Buffer.from))
    }
  }
})

test('a certificate is exported as a file with its key if the caller may export the key', async () => {
  const secret = await password(alice, 'secret')
  const { id } = await alice.do('Register', register(legacyFile, link('PKCS_12PasswordLink', secret)))
  const certificate = String(linked(await getAttributes(alice, id), 'PKCS_12CertificateLink'))
  assert.equal(linked(await getAttributes(alice, certificate), 'PrivateKeyLink'), id)
  const given = await alice.do('Get', [uid(certificate), wanted('PKCS_12')])
  assert.equal(given.id, id)
  assert.equal(given.get(Tag.ObjectType), Enumeration.ObjectType.PrivateKey)
  const [brought, original] = [
    await readPkcs12(fileIn(given.nodes), 'secret'),
    await readPkcs12(legacyFile, 'secret'),
  ]
  assert.deepEqual(brought.certificates.map(Buffer.from), original.certificates.map(Buffer.from))
  const exported = await alice.do('Export', [uid(certificate), wanted('PKCS_12')])
  assert.equal(exported.id, id)
  // A right on the certificate is none on the key.
  await kms
    .user('alice')
    .post(`/access/grant`, { unique_identifier: certificate, user_id: 'bob', operation_types: ['get'] })
  await bob.do('Get', [uid(certificate)])
  await bob.fails('Get', [uid(certificate), wanted('PKCS_12')], 'ObjectNotFound')
  // Without a key that is known here there is no file.
  const { nodes } = await alice.do('Get', [uid(certificate)])
  const alone = await alice.do('Register', [
    objectType('Certificate'),
    attributes(),
    ...nodes.filter(({ tag }) => tag === Tag.Certificate),
  ])
  await alice.fails('Get', [uid(alone.id), wanted('PKCS_12')], 'KeyFormatTypeNotSupported')
})

test('a certificate that the service issued is exported as a file, and a Sensitive key is not', async () => {
  const certify = (...more: readonly TtlvNode[]) =>
    alice.do('Certify', [
      attributes(
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
        textString(Tag.CertificateSubjectCN, 'end'),
        ...more,
      ),
    ])
  const specification = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid('the password')]),
  ])
  const { id } = await certify()
  const certificate = (await alice.do('Get', [uid(id)])).nodes[2]
  const file = await alice.do('Get', [uid(id), wanted('PKCS_12'), specification])
  const brought = await readPkcs12(fileIn(file.nodes), 'the password')
  const issued = new X509Certificate(
    Buffer.from(inside(certificate, Tag.CertificateValue)?.value as Uint8Array),
  )
  assert.deepEqual(brought.certificates.map(Buffer.from), [issued.raw])
  const key = createPrivateKey({ key: Buffer.from(brought.privateKey), format: 'der', type: 'pkcs8' })
  assert.ok(issued.checkPrivateKey(key))
  await alice.do('SetAttribute', [uid(file.id), structure(Tag.NewAttribute, [boolean(Tag.Sensitive, true)])])
  await alice.fails('Get', [uid(id), wanted('PKCS_12'), specification], 'Sensitive')
})

test('a private key whose public key has the certificate is exported with it', async () => {
  const made = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
    ]),
    structure(Tag.PrivateKeyAttributes, [mask('Sign'), activeSince]),
    structure(Tag.PublicKeyAttributes, [mask('Verify'), activeSince]),
  ])
  const [secret, open] = [Tag.PrivateKeyUniqueIdentifier, Tag.PublicKeyUniqueIdentifier].map((tag) =>
    String(made.get(tag)),
  ) as [string, string]
  const { id } = await alice.do('Certify', [
    uid(open),
    attributes(textString(Tag.CertificateSubjectCN, 'half')),
  ])
  const specification = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid('the password')]),
  ])
  const { nodes } = await alice.do('Get', [uid(secret), wanted('PKCS_12'), specification])
  const { certificates } = await readPkcs12(fileIn(nodes), 'the password')
  const der = inside((await alice.do('Get', [uid(id)])).nodes[2], Tag.CertificateValue)?.value as Uint8Array
  assert.deepEqual(certificates.map(Buffer.from), [Buffer.from(der)])
})

test('a file can be imported with a chosen identifier', async () => {
  const secret = await password(alice, 'secret')
  const [type, given, key] = register(legacyFile, link('PKCS_12PasswordLink', secret))
  await alice.do('Import', [uid('from a file'), type, given, key])
  const nodes = await getAttributes(alice, 'from a file')
  assert.equal(nodes.find(({ tag }) => tag === Tag.PKCS_12FriendlyName)?.value, 'old')
  const written = fileIn((await alice.do('Get', [uid('from a file'), wanted('PKCS_12')])).nodes)
  assert.equal((await readPkcs12(written, 'secret')).certificates.length, 1)
})

test('a file with a wrong or missing password is refused, and nothing is stored', async () => {
  const carol = kmipClient(kms.user('carol'))
  const to = (id: string) => link('PKCS_12PasswordLink', id)
  const wrong = await password(carol, 'wrong')
  const foreign = await password(kmipClient(kms.user('bob')), 'pässwörd')
  await carol.fails('Register', register(modernFile, to(wrong)), 'BadPassword')
  await carol.fails('Register', register(modernFile), 'BadPassword')
  await carol.fails('Register', register(modernFile, to(wrong), to(wrong)), 'BadPassword')
  await carol.fails('Register', register(Buffer.from('none'), to(wrong)), 'InvalidField')
  await carol.fails('Register', register(modernFile, to(foreign)), 'ObjectNotFound')
  for (const type of ['PrivateKey', 'Certificate'] as const) {
    const located = await carol.do('Locate', [attributes(objectType(type))])
    assert.equal(located.get(Tag.UniqueIdentifier), undefined)
  }
})

test('a Sensitive key is not exported as a PKCS#12 file, which counts as the key in clear', async () => {
  const secret = await password(alice, 'secret')
  const given = [link('PKCS_12PasswordLink', secret), boolean(Tag.Sensitive, true)]
  const { id } = await alice.do('Register', register(legacyFile, ...given))
  assert.equal(await alice.fails('Get', [uid(id), wanted('PKCS_12')], 'Sensitive'), 'DENIED')
})

test('clients that name the password as wrapping key get a file', async () => {
  const made = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
    ]),
    structure(Tag.PrivateKeyAttributes, [mask('Sign')]),
    structure(Tag.PublicKeyAttributes, [mask('Verify')]),
  ])
  const id = String(made.get(Tag.PrivateKeyUniqueIdentifier))
  const specification = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid('the password')]),
  ])
  const { nodes } = await alice.do('Get', [uid(id), wanted('PKCS_12'), specification])
  const { certificates } = await readPkcs12(fileIn(nodes), 'the password')
  assert.deepEqual(certificates, [])
  await alice.fails('Get', [uid(id), wanted('PKCS_12')], 'BadPassword')
})

test('a certificate is exported with its issuers as PKCS#7', async () => {
  const certify = (cn: string, ...more: readonly TtlvNode[]) =>
    alice.do('Certify', [
      attributes(
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
        textString(Tag.CertificateSubjectCN, cn),
        ...more,
      ),
    ])
  const ca = await certify(
    'root',
    structure(Tag.Attribute, [
      textString(Tag.VendorIdentification, 'example'),
      textString(Tag.AttributeName, 'x509-extension'),
      byteString(Tag.AttributeValue, Buffer.from('basicConstraints=critical,CA:TRUE')),
    ]),
  )
  const { id } = await certify('end', link('CertificateLink', ca.id))
  const { nodes } = await alice.do('Get', [uid(id), wanted('PKCS_7')])
  assert.equal(inside(nodes[2], Tag.CertificateType)?.value, Enumeration.CertificateType.PKCS_7)
  const file = Buffer.from(inside(nodes[2], Tag.CertificateValue)?.value as Uint8Array)
  for (const each of [id, ca.id]) {
    const got = await alice.do('Get', [uid(each)])
    const der = inside(got.nodes[2], Tag.CertificateValue)?.value as Uint8Array
    assert.ok(file.includes(Buffer.from(der)), new X509Certificate(der).subject)
  }
})
