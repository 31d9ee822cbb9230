import { randomBytes } from 'node:crypto'
import { isFipsSymmetric } from '@warder/crypto'
import {
  type AlgorithmName,
  algorithmNode,
  type HsmTarget,
  type NewObjectRequest,
  requireSoftwareStorage,
  stageNewObject,
  toStoredKeyKind,
  withDefaults,
} from '@warder/keys'
import { Tag, type TtlvNode } from '@warder/kmip-codec'
import { asksForAbe } from '../../attributes/abe-request.ts'
import {
  defaultUsageMask,
  readFormat,
  readLength,
  requireAlgorithm,
  requireQuantumSafe,
  storageMasks,
} from '../../attributes/wanted-key.ts'
import { creates, defineOperation, namedObject } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { digestAttributes, digestNode, keyFormatNode } from '../../key-blocks/digest.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { createUserKey } from '../abe/create-keys.ts'
import { findRequestedHsm, stageHsmSymmetricKey } from './hsm-keys.ts'

/** Symmetric keys that can be created, with their lengths in bits of CryptographicLength. */
interface SymmetricKind {
  /** Allowed lengths; undefined: any whole number of bytes from `minBits` to `maxBits`. */
  readonly lengths?: readonly number[]
  readonly minBits?: number
  readonly maxBits?: number
  readonly defaultBits: number
  /** Bytes of a key of that length; bits / 8 by default. */
  readonly bytes?: (bits: number) => number
}

const block = { lengths: [128, 192, 256], defaultBits: 256 }
const hmac = (defaultBits: number): SymmetricKind => ({ minBits: 8, maxBits: 32_768, defaultBits })

/** SP 800-107 §5.3.4: an HMAC key of less than 112 bits is not approved. */
const minFipsHmacBits = 112

/** The complete table of keys that Create supports. */
export const symmetricKinds: Readonly<Partial<Record<AlgorithmName, SymmetricKind>>> = {
  // 512 is two AES-256 keys for XTS.
  AES: { lengths: [128, 192, 256, 512], defaultBits: 256 },
  // KMIP 2.1 §4.15: the length counts key bits without parity; clients also send it with parity.
  DES3: { lengths: [112, 128, 168, 192], defaultBits: 168, bytes: (bits) => (bits <= 128 ? 16 : 24) },
  Camellia: block,
  ARIA: block,
  SM4: { lengths: [128], defaultBits: 128 },
  ChaCha20: { lengths: [256], defaultBits: 256 },
  ChaCha20Poly1305: { lengths: [256], defaultBits: 256 },
  Poly1305: { lengths: [256], defaultBits: 256 },
  HMAC_SHA1: hmac(160),
  HMAC_SHA224: hmac(224),
  HMAC_SHA256: hmac(256),
  HMAC_SHA384: hmac(384),
  HMAC_SHA512: hmac(512),
  HMAC_SHA3_224: hmac(224),
  HMAC_SHA3_256: hmac(256),
  HMAC_SHA3_384: hmac(384),
  HMAC_SHA3_512: hmac(512),
}

/** Create (KMIP 2.1 §6.1.8): a new symmetric key, random secret data, or a user key of attribute-based encryption. */
export const create = defineOperation({
  name: 'Create',
  reach: ['make object', 'make derivation'],
  asks: ['derivekey', 'get'],
  access: creates,
  request: definePayload({
    objectType: required(field.named('ObjectType')),
    attributes: field.attributes(Tag.Attributes),
    storageMasks,
  }),
  reply: definePayload({
    objectType: required(field.named('ObjectType')),
    uniqueIdentifier: required(namedObject),
  }),
  handle({ objectType: type, attributes: requested, storageMasks: masks }, context) {
    if (type === 'PrivateKey') {
      const attributes = withDefaults(context.rules, type, requested)
      if (asksForAbe(attributes)) return createUserKey(context, attributes)
    }
    if (type !== 'SymmetricKey' && type !== 'SecretData')
      throw kmipFailure('InvalidField', `Create does not make objects of type ${type}.`)
    const attributes = withDefaults(context.rules, type, requested)
    const hsm = type === 'SymmetricKey' ? findRequestedHsm(context, attributes, masks) : undefined
    if (hsm !== undefined) return createInHsm(context, attributes, hsm)
    requireSoftwareStorage(masks)
    const request = type === 'SymmetricKey' ? newSymmetricKey(attributes, context) : newSecret(attributes)
    try {
      const object = stageNewObject(context, { ...request, defaultMask: defaultMaskFor(request) })
      context.audit({
        object: object.id,
        ...(object.algorithm !== undefined && { algorithm: object.algorithm }),
      })
      context.placeholder = object.id
      return { objectType: type, uniqueIdentifier: object.id }
    } finally {
      request.material?.fill(0)
    }
  },
})

async function createInHsm(context: KmipContext, attributes: readonly TtlvNode[], hsm: HsmTarget) {
  const { id, type, algorithm } = await stageHsmSymmetricKey(context, attributes, hsm)
  context.audit({
    object: id,
    ...(algorithm !== undefined && { algorithm }),
    details: { hsm: hsm.hsm.name },
  })
  context.placeholder = id
  return { objectType: type, uniqueIdentifier: id }
}

/**
 * Without a CryptographicUsageMask in the request, a key gets every use that its type supports, like a registered one.
 */
function defaultMaskFor({ type, attributes }: NewObjectRequest): number {
  return type === 'SymmetricKey'
    ? defaultUsageMask({ objectType: type, algorithm: requireAlgorithm(attributes) })
    : 0
}

/** The bytes and description of a new key with the requested algorithm and length. */
export function newSymmetricKey(attributes: readonly TtlvNode[], context: KmipContext): NewObjectRequest {
  const algorithm = requireAlgorithm(attributes)
  const kind = symmetricKinds[algorithm]
  const { fips } = context.services
  if (kind === undefined || (fips && !isFipsSymmetric(algorithm)))
    throw kmipFailure('InvalidField', `Symmetric keys for ${algorithm} cannot be created on this server.`)
  const bits = readLength(attributes) ?? kind.defaultBits
  const minBits = fips && algorithm.startsWith('HMAC') ? minFipsHmacBits : (kind.minBits ?? 0)
  const fits =
    kind.lengths?.includes(bits) ?? (bits % 8 === 0 && bits >= minBits && bits <= (kind.maxBits ?? 0))
  if (!fits) throw kmipFailure('InvalidField', `A key for ${algorithm} cannot have ${bits} bits.`)
  const format = readFormat(attributes) ?? 'Raw'
  if (format !== 'Raw' && format !== 'TransparentSymmetricKey')
    throw kmipFailure('KeyFormatTypeNotSupported', `A symmetric key has no format ${format}.`)
  requireQuantumSafe(attributes, algorithm, bits)
  const material = randomBytes(kind.bytes?.(bits) ?? bits / 8)
  return {
    type: 'SymmetricKey',
    ...toStoredKeyKind({ algorithm }),
    bits,
    material,
    attributes,
    given: [
      algorithmNode(algorithm),
      ...digestAttributes({ objectType: 'SymmetricKey', form: 'canonical', keyFormat: format }, material),
      keyFormatNode(format),
    ],
    generated: true,
  }
}

const defaultSecretBits = 256
const maxSecretBits = 32_768

function newSecret(attributes: readonly TtlvNode[]): NewObjectRequest {
  const bits = readLength(attributes) ?? defaultSecretBits
  if (bits % 8 !== 0 || bits < 8 || bits > maxSecretBits)
    throw kmipFailure('InvalidField', `Secret data must have 8 to ${maxSecretBits} bits, in whole bytes.`)
  requireQuantumSafe(attributes, 'SecretData', bits)
  const material = randomBytes(bits / 8)
  return {
    type: 'SecretData',
    bits,
    material,
    attributes,
    given: [digestNode(material, 'Raw'), keyFormatNode('Raw')],
    form: { secretDataType: 'Seed' },
    generated: true,
  }
}
