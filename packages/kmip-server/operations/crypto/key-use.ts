import { X509Certificate } from 'node:crypto'
import {
  type BackendKey,
  type CipherPlan,
  type CryptographicParameters,
  type EncryptionChoice,
  noParameters,
  softwareKey,
  whyEncryptionDecrypts,
} from '@warder/crypto'
import { type ManagedObject, type Right, readStoredWithTag } from '@warder/keys'
import { type StructureNode, Tag } from '@warder/kmip-codec'
import { type AlgorithmName, readParameters } from '../../crypto/parameters.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readAlgorithm } from '../../key-blocks/object-shape.ts'

/**
 * Counts one of the AES-GCM encryptions with random IVs that SP 800-38D §8.3 permits per key; only AES keys have this
 * limit.
 * @throws Failure crypto_failure when the limit is reached
 */
export function takeInvocation(
  { objects, services }: KmipContext,
  object: ManagedObject,
): Promise<void> | undefined {
  if (object.algorithm !== 'AES' || objects.counted(object)) return undefined
  return services.budgets.take(object)
}

/**
 * Parameters of the request; if it has none, the first CryptographicParameters of the key (KMIP 2.1
 * §6.1.17). @throws as `readParameters`
 */
export function resolveParameters(
  object: ManagedObject,
  asked: StructureNode | undefined,
): CryptographicParameters {
  const node = asked ?? readStoredWithTag(object, Tag.CryptographicParameters)[0]
  return node?.type === 'Structure' ? readParameters(node) : noParameters
}

/**
 * Requires another right on the key, for a use that has the effect of another operation.
 * @param why a sentence without its full stop; undefined: the use has no such effect
 * @throws PermissionDenied that names the right
 */
export async function requireRight(
  context: KmipContext,
  object: ManagedObject,
  right: Right,
  why: string | undefined,
): Promise<void> {
  if (why === undefined) return
  if (!(await context.holds(object, right)))
    throw kmipFailure('PermissionDenied', `This use also requires the right ${right}: ${why}.`)
}

/**
 * Also requires the right to decrypt if this encryption has the effect of a decryption (docs/adr/rights-and-reach.md).
 * A key that is bound to a JOSE algorithm always refuses it: the service generates its IVs (RFC 7518 §5.3).
 * @throws PermissionDenied, BadCryptographicParameters
 */
export async function requireOneWay(
  context: KmipContext,
  object: ManagedObject,
  plan: CipherPlan,
  choice: EncryptionChoice,
): Promise<void> {
  const why = whyEncryptionDecrypts(plan, choice)
  if (why === undefined) return
  if (object.boundAlg !== undefined)
    throw kmipFailure(
      'BadCryptographicParameters',
      `The key is bound to ${object.boundAlg}, and ${why}: omit IVCounterNonce and IVLength.`,
    )
  await requireRight(context, object, 'decrypt', why)
}

/** The algorithm of a key. @throws InvalidObjectType for other objects */
export function algorithmInUse(object: ManagedObject): AlgorithmName {
  const algorithm = readAlgorithm(object)
  if (algorithm === undefined) throw kmipFailure('InvalidObjectType', 'The object is not a key.')
  return algorithm
}

/** The key of the row, or the public key in a certificate. @throws InvalidObjectType, KeyValueNotPresent */
export async function findBackendKey({ key, objects }: KmipContext): Promise<BackendKey> {
  const { object } = key
  switch (object.type) {
    case 'SymmetricKey':
    case 'PrivateKey':
    case 'PublicKey':
      if (object.form.wrapped === true)
        throw kmipFailure(
          'KeyValueNotPresent',
          'The key was registered wrapped and is stored wrapped: it cannot be used on this server.',
        )
      return key.held
    case 'Certificate': {
      const material = await objects.material(object)
      if (material === undefined)
        throw kmipFailure('KeyValueNotPresent', 'The certificate is not stored on this server.')
      return softwareKey(new X509Certificate(material).publicKey)
    }
    default:
      throw kmipFailure('InvalidObjectType', `An object of type ${object.type} is not a key.`)
  }
}
