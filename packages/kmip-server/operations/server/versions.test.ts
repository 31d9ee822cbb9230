import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  byteString,
  Enumeration,
  enumeration,
  kmipVersions,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { p256Request } from '@warder/pki/testing'
import {
  activeSince,
  aesKey,
  hex,
  inside,
  keyBlock,
  keyOf,
  mask,
  nameNode,
  same,
  wanted,
  wrappingSpecification,
} from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

const kms = await startSharedKms()

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const sec1 = privateKey.export({ format: 'der', type: 'sec1' })

/** Operations of each version, from 1.0 on. */
for (const encoding of ['ttlv', 'json', 'xml'] as const) {
  for (const version of kmipVersions) {
    test(`keys are registered, exported, wrapped and replaced, in KMIP ${version} as ${encoding}`, async () => {
      const alice = kmipClient(kms.user('alice'), { version, encoding })
      const kek = await alice.do('Register', [
        objectType('SymmetricKey'),
        attributes(mask('WrapKey', 'UnwrapKey'), activeSince),
        aesKey(randomBytes(32)),
      ])
      const node = structure(Tag.PrivateKey, [keyBlock('ECPrivateKey', sec1, ...keyOf('ECDSA', 256))])
      const key = await alice.do('Register', [
        objectType('PrivateKey'),
        attributes(mask('Sign'), nameNode(`key ${version} ${encoding}`)),
        node,
      ])
      const got = await alice.do('Get', [uid(key.id)])
      same(
        got.nodes.find(({ tag }) => tag === Tag.PrivateKey),
        node,
      )
      const pkcs8 = await alice.do('Get', [uid(key.id), wanted('PKCS_8')])
      const bytes = inside(
        pkcs8.nodes.find(({ tag }) => tag === Tag.PrivateKey),
        Tag.KeyBlock,
        Tag.KeyValue,
        Tag.KeyMaterial,
      )?.value
      const der = Buffer.from(hex(bytes), 'hex')
      assert.ok(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).equals(privateKey))
      const wrapped = (
        await alice.do('Get', [uid(key.id), wrappingSpecification(kek.id, 'NISTKeyWrap')])
      ).nodes.find(({ tag }) => tag === Tag.PrivateKey)
      assert.ok(wrapped)
      const again = await alice.do('Register', [objectType('PrivateKey'), attributes(mask('Sign')), wrapped])
      same(
        (await alice.do('Get', [uid(again.id)])).nodes.find(({ tag }) => tag === Tag.PrivateKey),
        wrapped,
      )
      const plain = await alice.do('Register', [
        objectType('SymmetricKey'),
        attributes(mask('Encrypt'), activeSince),
        aesKey(randomBytes(16)),
      ])
      const replaced = await alice.do('ReKey', [uid(plain.id)])
      assert.notEqual(replaced.id, plain.id)
      if (version >= '1.4') {
        const out = await alice.do('Export', [uid(replaced.id)])
        const exported = out.nodes.find(({ tag }) => tag === Tag.SymmetricKey) as TtlvNode
        const imported = await alice.do('Import', [
          uid(`imported ${version} ${encoding}`),
          objectType('SymmetricKey'),
          attributes(mask('Encrypt')),
          exported,
        ])
        same(
          (await alice.do('Get', [uid(imported.id)])).nodes.find(({ tag }) => tag === Tag.SymmetricKey),
          exported,
        )
      }
    })
  }

  test(`a request is certified and validated in every version as ${encoding}`, async () => {
    const { id: ca } = await kmipClient(kms.user('alice')).do('Certify', [
      attributes(
        ...keyOf('EC', 256),
        textString(Tag.CertificateSubjectCN, 'root'),
        structure(Tag.Attribute, [
          textString(Tag.VendorIdentification, 'example'),
          textString(Tag.AttributeName, 'x509-extension'),
          textString(Tag.AttributeValue, 'basicConstraints=critical,CA:TRUE'),
        ]),
      ),
    ])
    for (const version of kmipVersions) {
      const alice = kmipClient(kms.user('alice'), { version, encoding })
      const issuer = structure(Tag.Link, [
        enumeration(Tag.LinkType, Enumeration.LinkType.CertificateLink),
        textString(Tag.LinkedObjectIdentifier, ca),
      ])
      const { id } = await alice.do('Certify', [
        enumeration(Tag.CertificateRequestType, Enumeration.CertificateRequestType.PKCS_10),
        byteString(version >= '2.0' ? Tag.CertificateRequestValue : Tag.CertificateRequest, p256Request),
        attributes(issuer),
      ])
      const { nodes } = await alice.do('Get', [uid(id)])
      const certificate = nodes.find(({ tag }) => tag === Tag.Certificate)
      assert.ok(certificate)
      for (const given of [uid(id), certificate]) {
        const validity = (await alice.do('Validate', [given])).get(Tag.ValidityIndicator)
        assert.equal(validity, Enumeration.ValidityIndicator.Valid)
      }
    }
  })
}
