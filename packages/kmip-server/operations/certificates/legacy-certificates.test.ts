import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import {
  byteString,
  Enumeration,
  enumeration,
  integer,
  type KmipVersion,
  kmipVersions,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { inside } from '../../testing/keys.ts'
import { type KmipClient, kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

const kms = await startSharedKms()
const speaking = (version: KmipVersion) => kmipClient(kms.user('alice'), { version })
const alice = speaking('2.1')
const issued = (
  await alice.do('Certify', [
    attributes(
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
      integer(Tag.CryptographicLength, 256),
      textString(Tag.CertificateSubjectC, 'CH'),
      textString(Tag.CertificateSubjectO, 'Example, Inc.'),
      textString(Tag.CertificateSubjectCN, 'kms.example'),
      structure(Tag.Attribute, [
        textString(Tag.VendorIdentification, 'example'),
        textString(Tag.AttributeName, 'x509-extension'),
        textString(Tag.AttributeValue, 'subjectAltName=DNS:kms.example,IP:192.0.2.1'),
      ]),
    ),
  ])
).id
const { nodes } = await alice.do('Get', [uid(issued)])
const der = inside(
  nodes.find(({ tag }) => tag === Tag.Certificate),
  Tag.CertificateValue,
)?.value as Uint8Array
const serialNumber = new X509Certificate(der).serialNumber

const legacyTags: readonly number[] = [
  Tag.CertificateIdentifier,
  Tag.CertificateIssuer,
  Tag.CertificateSubject,
]
const name = 'CN=kms.example,O=Example\\, Inc.,C=CH'

function said(): readonly TtlvNode[] {
  return [
    structure(Tag.CertificateIdentifier, [
      textString(Tag.Issuer, name),
      textString(Tag.SerialNumber, serialNumber),
    ]),
    structure(Tag.CertificateIssuer, [textString(Tag.CertificateIssuerDistinguishedName, name)]),
    structure(Tag.CertificateSubject, [
      textString(Tag.CertificateSubjectDistinguishedName, name),
      textString(Tag.CertificateSubjectAlternativeName, 'DNS:kms.example'),
      textString(Tag.CertificateSubjectAlternativeName, 'IP:192.0.2.1'),
    ]),
  ]
}

const reference = (tag: number) => enumeration(Tag.AttributeReference, tag)

async function legacyAttributes(
  alice: KmipClient,
  id: string,
  ...references: readonly TtlvNode[]
): Promise<readonly TtlvNode[]> {
  const { nodes } = await alice.do('GetAttributes', [uid(id), ...references])
  const found = nodes.find(({ tag }) => tag === Tag.Attributes)
  return found?.type === 'Structure' ? found.value.filter(({ tag }) => legacyTags.includes(tag)) : []
}

async function legacyNames(alice: KmipClient, id: string): Promise<readonly unknown[]> {
  const { nodes } = await alice.do('GetAttributeList', [uid(id)])
  return nodes
    .filter(({ tag }) => tag === Tag.AttributeReference)
    .map(({ value }) => value)
    .filter((value) => legacyTags.includes(value as number))
}

async function found(alice: KmipClient, ...terms: readonly TtlvNode[]): Promise<readonly unknown[]> {
  const { nodes } = await alice.do('Locate', [attributes(...terms)])
  return nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).map(({ value }) => value)
}

for (const version of kmipVersions.filter((each) => each < '2.0')) {
  test(`KMIP ${version} returns the names of a certificate as text`, async () => {
    const alice = speaking(version)
    const { id } = await alice.do('Register', [
      objectType('Certificate'),
      attributes(integer(Tag.CryptographicUsageMask, 2)),
      structure(Tag.Certificate, [
        enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
        byteString(Tag.CertificateValue, der),
      ]),
    ])
    for (const each of [issued, id]) {
      assert.deepEqual(await legacyAttributes(alice, each), said())
      assert.deepEqual(await legacyAttributes(alice, each, ...legacyTags.map(reference)), said())
      assert.deepEqual(await legacyNames(alice, each), legacyTags)
    }
    for (const term of said()) {
      const ids = await found(alice, term)
      assert.ok(ids.includes(issued) && ids.includes(id), `${term.tag} finds both`)
    }
    const other = structure(Tag.CertificateSubject, [
      textString(Tag.CertificateSubjectDistinguishedName, 'CN=other'),
    ])
    assert.deepEqual(await found(alice, other), [])
    const host = textString(Tag.CertificateSubjectAlternativeName, 'IP:192.0.2.1')
    assert.ok((await found(alice, structure(Tag.CertificateSubject, [host]))).includes(id))
    await alice.fails('AddAttribute', [uid(id), structure(Tag.NewAttribute, [other])], 'PermissionDenied')
    await alice.fails('ModifyAttribute', [uid(id), structure(Tag.NewAttribute, [other])], 'PermissionDenied')
    await alice.fails('DeleteAttribute', [uid(id), reference(Tag.CertificateSubject)], 'PermissionDenied')
    assert.deepEqual(await legacyAttributes(alice, id), said())
    await alice.do('Destroy', [uid(id)])
  })
}

test('KMIP 2.0 and 2.1 do not have these attributes', async () => {
  for (const version of ['2.0', '2.1'] as const) {
    const alice = speaking(version)
    assert.deepEqual(await legacyAttributes(alice, issued), [])
    assert.deepEqual(await legacyAttributes(alice, issued, ...legacyTags.map(reference)), [])
    assert.deepEqual(await legacyNames(alice, issued), [])
    const exported = await alice.do('Export', [uid(issued)])
    assert.equal(
      inside(
        exported.nodes.find(({ tag }) => tag === Tag.Attributes),
        Tag.CertificateIdentifier,
      ),
      undefined,
    )
  }
  for (const term of said()) await speaking('2.1').fails('Locate', [attributes(term)], 'InvalidAttribute')
})

test('a certificate that KMIP 1.4 exports is imported, and its names are derived again', async () => {
  const alice = speaking('1.4')
  const { nodes } = await alice.do('Export', [uid(issued)])
  const listed = nodes.find(({ tag }) => tag === Tag.Attributes)
  const certificate = nodes.find(({ tag }) => tag === Tag.Certificate)
  assert.ok(listed?.type === 'Structure' && certificate !== undefined)
  assert.deepEqual(
    listed.value.filter(({ tag }) => legacyTags.includes(tag)),
    said(),
  )
  const { id } = await alice.do('Import', [
    uid(`${issued}-again`),
    objectType('Certificate'),
    structure(
      Tag.Attributes,
      listed.value.filter(({ tag }) => tag !== Tag.UniqueIdentifier),
    ),
    certificate,
  ])
  assert.deepEqual(await legacyAttributes(alice, id), said())
})
