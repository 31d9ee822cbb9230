import { encodeSealRequest } from '@warder/covercrypt'
import { encodeBulkSealRequest } from '@warder/covercrypt/testing'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  requireType,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import type { KmipClient } from './kmip-client.ts'
import { attributes, objectType, uid } from './nodes.ts'

const { CryptographicAlgorithm: algorithms, KeyFormatType: formats, LinkType: links } = Enumeration

export const past = dateTime(Tag.ActivationDate, 1_000_000_000)
export const coverCrypt = enumeration(Tag.CryptographicAlgorithm, algorithms.CoverCrypt)
export const format = (name: 'CoverCryptSecretKey' | 'CoverCryptPublicKey') =>
  enumeration(Tag.KeyFormatType, formats[name])
export const parent = (id: string) =>
  structure(Tag.Link, [
    enumeration(Tag.LinkType, links.ParentLink),
    textString(Tag.LinkedObjectIdentifier, id),
  ])

export function vendor(name: string, value: string | object, of = 'cosmian'): TtlvNode {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, of),
    textString(Tag.AttributeName, name),
    byteString(Tag.AttributeValue, Buffer.from(text)),
  ])
}

export const hospital = {
  'Clearance::<': ['Public', 'Restricted', 'Secret::+'],
  Team: ['Blue', 'Green', 'Red'],
}

export interface MasterIds {
  readonly master: string
  readonly publicKey: string
}

/** A user of attribute-based encryption over KMIP. */
export class AbeClient {
  readonly kmip: KmipClient

  constructor(kmip: KmipClient) {
    this.kmip = kmip
  }

  async pair(structureText: string | object = hospital, ...more: readonly TtlvNode[]): Promise<MasterIds> {
    const common = [coverCrypt, vendor('cover_crypt_access_structure', structureText), past, ...more]
    const made = await this.kmip.do('CreateKeyPair', [structure(Tag.CommonAttributes, common)])
    return {
      master: made.get(Tag.PrivateKeyUniqueIdentifier) as string,
      publicKey: made.get(Tag.PublicKeyUniqueIdentifier) as string,
    }
  }

  wish(master: string, policy: string, ...more: readonly TtlvNode[]): readonly TtlvNode[] {
    const all = [
      coverCrypt,
      format('CoverCryptSecretKey'),
      parent(master),
      vendor('cover_crypt_access_policy', policy),
    ]
    return [objectType('PrivateKey'), attributes(...all, ...more)]
  }

  async user(master: string, policy: string, ...more: readonly TtlvNode[]): Promise<string> {
    return (await this.kmip.do('Create', this.wish(master, policy, ...more))).id
  }

  sealing(
    publicKey: string,
    policy: string,
    plaintext: string,
    ...more: readonly TtlvNode[]
  ): readonly TtlvNode[] {
    const data = encodeSealRequest({ policy, plaintext: Buffer.from(plaintext) })
    return [uid(publicKey), byteString(Tag.Data, data), ...more]
  }

  async encrypt(
    publicKey: string,
    policy: string,
    plaintext: string,
    ...more: readonly TtlvNode[]
  ): Promise<Buffer> {
    const sealed = await this.kmip.do('Encrypt', this.sealing(publicKey, policy, plaintext, ...more))
    return Buffer.from(sealed.get(Tag.Data) as Uint8Array)
  }

  async encryptBulk(publicKey: string, policy: string, plaintexts: readonly string[]): Promise<Buffer> {
    const data = encodeBulkSealRequest({ policy, plaintexts: plaintexts.map((one) => Buffer.from(one)) })
    const sealed = await this.kmip.do('Encrypt', [uid(publicKey), bulk, byteString(Tag.Data, data)])
    return Buffer.from(sealed.get(Tag.Data) as Uint8Array)
  }

  /** The plaintext; undefined when the key does not open it. */
  async decrypt(user: string, sealed: Uint8Array, ...more: readonly TtlvNode[]): Promise<string | undefined> {
    const item = await this.kmip.ask('Decrypt', [uid(user), byteString(Tag.Data, sealed), ...more])
    if (item.status !== 'Success') {
      if (item.reason !== 'CryptographicFailure' || item.message !== 'CRYPTO')
        throw new Error(`${item.reason}: ${item.message}`)
      return undefined
    }
    const data = item.payload?.find(({ tag }) => tag === Tag.Data)
    return Buffer.from(data?.value as Uint8Array).toString()
  }

  rotation(master: string, action: string | object, ...more: readonly TtlvNode[]): readonly TtlvNode[] {
    const wishes = [coverCrypt, vendor('cover_crypt_rekey_action', action), ...more]
    return [textString(Tag.PrivateKeyUniqueIdentifier, master), structure(Tag.PrivateKeyAttributes, wishes)]
  }

  async rotate(master: string, action: object): Promise<void> {
    await this.kmip.do('ReKeyKeyPair', this.rotation(master, action))
  }

  /** The bytes of a key. */
  async get(id: string, operation: 'Get' | 'Export' = 'Get'): Promise<Buffer> {
    const { nodes } = await this.kmip.do(operation, [uid(id)])
    const object = nodes.find(({ tag }) => tag === Tag.PrivateKey || tag === Tag.PublicKey)
    let node = requireType(object ?? uid(''), 'Structure')
    for (const tag of [Tag.KeyBlock, Tag.KeyValue])
      node = requireType(node.value.find((member) => member.tag === tag) ?? uid(''), 'Structure')
    return Buffer.from(node.value.find(({ tag }) => tag === Tag.KeyMaterial)?.value as Uint8Array)
  }

  importing(
    type: 'PrivateKey' | 'PublicKey',
    key: Uint8Array,
    ...more: readonly TtlvNode[]
  ): readonly TtlvNode[] {
    const name = type === 'PrivateKey' ? 'CoverCryptSecretKey' : 'CoverCryptPublicKey'
    return [
      uid(''),
      objectType(type),
      attributes(past, ...more),
      structure(Tag[type], [
        structure(Tag.KeyBlock, [
          format(name),
          structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, key)]),
          coverCrypt,
        ]),
      ]),
    ]
  }
}

export const bulk = structure(Tag.CryptographicParameters, [
  enumeration(Tag.CryptographicAlgorithm, algorithms.CoverCryptBulk),
])
export const aad = (text: string) => byteString(Tag.AuthenticatedEncryptionAdditionalData, Buffer.from(text))
