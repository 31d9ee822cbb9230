import { createHmac, type KeyObject, timingSafeEqual, X509Certificate } from 'node:crypto'
import { Tag } from '@warder/kmip/tables'
import type { StructureNode } from '@warder/kmip/ttlv'
import type { Right } from '../../access/index.ts'
import type { AlgorithmPolicy } from '../../crypto/index.ts'
import { allows, type Key, type ManagedObject, stateAt, type Usage } from '../../objects/index.ts'
import { hashAlgorithm } from '../crypto/hashes.ts'
import type { KeyInUse } from '../crypto/key-in-use.ts'
import { type CryptographicParameters, noParameters, readParameters } from '../crypto/parameters.ts'
import { signWith, verifyWith } from '../crypto/signature.ts'
import { planSignature } from '../crypto/signature-plan.ts'
import { type KmipContext, KmipFailure, kmipFailure } from '../engine/index.ts'
import type { Authenticator, WrappingData, WrappingKeyInformation, WrappingKeys } from '../keys/index.ts'
import { algorithmOf } from '../keys/object-shape.ts'
import { storedWithTag } from '../object/index.ts'

/** The keys that a wrapping names, with their identifiers as text. */
export interface NamedWrappingKeys extends WrappingKeys {
  readonly identifiers: { readonly encryption: string | undefined; readonly mac: string | undefined }
}

type Named = Pick<WrappingData, 'encryption' | 'mac'>

/**
 * Opens the keys that are to wrap or unwrap. The caller needs the right to encrypt (to decrypt) with the wrapping key
 * and the key must be made for it: Active to wrap, and not PreActive or destroyed to unwrap.
 * @throws WrappingObjectNotFound, WrappingObjectDestroyed, WrappingObjectArchived, PermissionDenied,
 *   WrongKeyLifecycleState, IncompatibleCryptographicUsageMask
 */
export async function wrappingKeys(
  context: KmipContext,
  { encryption, mac }: Named,
  purpose: 'wrap' | 'unwrap',
): Promise<NamedWrappingKeys> {
  const wraps = purpose === 'wrap'
  const opened =
    encryption === undefined
      ? undefined
      : await openNamed(context, encryption, wraps ? 'encrypt' : 'decrypt', wraps ? 'wrapKey' : 'unwrapKey')
  return {
    encryption: opened && { key: opened.inUse, parameters: opened.parameters },
    mac: mac === undefined ? undefined : await authenticatorOf(context, mac, purpose),
    identifiers: {
      encryption: encryption && context.identifier(encryption.identifier),
      mac: mac && context.identifier(mac.identifier),
    },
  }
}

interface Opened {
  readonly inUse: KeyInUse
  readonly parameters: StructureNode | undefined
  readonly object: ManagedObject
}

async function openNamed(
  context: KmipContext,
  information: WrappingKeyInformation,
  right: Right,
  use: Usage,
): Promise<Opened> {
  const key = await permitted(context, context.identifier(information.identifier), right)
  const { object } = key
  requireUsable(context, key, use)
  const [own] = storedWithTag(object, Tag.CryptographicParameters)
  const algorithm = algorithmOf(object)
  if (algorithm === undefined)
    throw kmipFailure('InvalidObjectType', 'The object that is named as a wrapping key is no key.')
  return {
    inUse: {
      algorithm,
      key: object.type === 'Certificate' ? await certifiedKey(context, object) : key.keyObject,
    },
    parameters: information.parameters ?? (own?.type === 'Structure' ? own : undefined),
    object,
  }
}

async function permitted(context: KmipContext, id: string, right: Right): Promise<Key> {
  try {
    return await context.permittedKey(id, right)
  } catch (error) {
    if (error instanceof KmipFailure && error.reason === 'ObjectNotFound')
      throw kmipFailure('WrappingObjectNotFound', 'DENIED')
    if (error instanceof KmipFailure && error.reason === 'ObjectArchived')
      throw kmipFailure('WrappingObjectArchived', 'The wrapping key is archived: recover it first.')
    throw error
  }
}

function requireUsable({ now }: KmipContext, key: Key, use: Usage): void {
  const { object } = key
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('WrappingObjectDestroyed', 'DENIED')
  const protects = use === 'wrapKey' || use === 'macGenerate' || use === 'sign'
  if (state !== 'Active' && (protects || state === 'PreActive'))
    throw kmipFailure('WrongKeyLifecycleState', 'The wrapping key is not Active.')
  if (!allows(object.usageMask, use))
    throw kmipFailure('IncompatibleCryptographicUsageMask', 'The wrapping key was not made for this use.')
  // What the policy of this server says of the key.
  if (protects) key.requireProtecting(use)
  else key.requireProcessing(use)
}

async function certifiedKey(context: KmipContext, object: ManagedObject): Promise<KeyObject> {
  const material = await context.objects.material(object)
  if (material === undefined) throw kmipFailure('KeyValueNotPresent', 'The certificate is not kept here.')
  return new X509Certificate(material).publicKey
}

async function authenticatorOf(
  context: KmipContext,
  information: WrappingKeyInformation,
  purpose: 'wrap' | 'unwrap',
): Promise<Authenticator> {
  const id = context.identifier(information.identifier)
  const { object } = await permitted(context, id, 'mac').catch(() => permitted(context, id, 'sign'))
  const symmetric = object.type === 'SymmetricKey'
  const wraps = purpose === 'wrap'
  const right = symmetric ? 'mac' : wraps ? 'sign' : 'signatureverify'
  const use = symmetric ? (wraps ? 'macGenerate' : 'macVerify') : wraps ? 'sign' : 'verify'
  const opened = await openNamed(context, information, right, use)
  const parameters = opened.parameters === undefined ? noParameters : readParameters(opened.parameters)
  const { policy } = context.services
  return symmetric ? hmac(opened.inUse, parameters, policy) : signature(opened.inUse, parameters, policy)
}

/** HMAC with the hash that the parameters or the key name; SHA-256 when neither does. */
function hmac(
  { key, algorithm }: KeyInUse,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): Authenticator {
  if (!algorithm.startsWith('HMAC') || parameters.blockCipherMode !== undefined)
    throw kmipFailure('UnsupportedCryptographicParameters', 'Wrapped keys are authenticated with HMAC.')
  const named = hmacHashes[algorithm] ?? 'SHA_256'
  const hash = hashAlgorithm(parameters.hashingAlgorithm ?? named, policy)
  const sign = (data: Uint8Array) => createHmac(hash.node, key).update(data).digest()
  return {
    sign,
    verify(data, mac) {
      const right = sign(data)
      return right.length === mac.length && timingSafeEqual(right, mac)
    },
  }
}

const hmacHashes = {
  HMAC_SHA1: 'SHA_1',
  HMAC_SHA224: 'SHA_224',
  HMAC_SHA256: 'SHA_256',
  HMAC_SHA384: 'SHA_384',
  HMAC_SHA512: 'SHA_512',
  HMAC_SHA3_224: 'SHA3_224',
  HMAC_SHA3_256: 'SHA3_256',
  HMAC_SHA3_384: 'SHA3_384',
  HMAC_SHA3_512: 'SHA3_512',
} as Readonly<Record<string, NonNullable<CryptographicParameters['hashingAlgorithm']>>>

function signature(
  { key }: KeyInUse,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): Authenticator {
  return {
    sign: (data) => signWith(key, planSignature(key, parameters, policy, 'sign'), { data }),
    verify: (data, mac) => verifyWith(key, planSignature(key, parameters, policy, 'verify'), { data }, mac),
  }
}
