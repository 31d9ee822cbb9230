import { Failure } from '@warder/foundation/errors'
import type { Access, OperationContext } from '@warder/foundation/operations'
import { andThen } from '@warder/foundation/promises'
import type { Right } from '../../../access/index.ts'
import { type CipherPlan, noParameters, planCipher } from '../../../crypto/index.ts'
import { grantedKey } from '../../../external/index.ts'
import { Key, type UseRefusal } from '../../../keys/index.ts'
import type { KmsServices } from '../../../services.ts'
import { type XksError, xksFailure } from './errors.ts'
import { type RequestMetadata, recordMetadata } from './request.ts'

/** The key in the path, if `right` on it was granted to the principal that AWS KMS names (docs/adr/0052). */
export function awsRight(right: Right): Access<KmsServices> {
  return {
    name: `key right granted to aws: ${right}`,
    check({ path, body }, context) {
      const { requestMetadata } = body as { readonly requestMetadata: RequestMetadata }
      const { externalKeyId = '' } = path
      recordMetadata(context, requestMetadata, {
        object: externalKeyId,
        ...(right !== 'getattributes' && { algorithm: 'AES_GCM' }),
      })
      const { awsPrincipalArn } = requestMetadata
      try {
        const key = grantedKey(context.services, 'aws', awsPrincipalArn, externalKeyId, right)
        const keep = (found: Key): void => {
          context.found = found
        }
        return andThen(key, keep, refused)
      } catch (thrown) {
        refused(thrown)
      }
    },
  }
}

/** A path that leads nowhere is not found, too, and has another name at AWS. */
export function refused(thrown: unknown): never {
  if (thrown instanceof Failure && thrown.kind === 'not_found')
    throw xksFailure('KeyNotFoundException', thrown.message)
  throw thrown
}

/** What `awsRight` found. */
export function resolvedKey({ found }: OperationContext<KmsServices>): Key {
  if (found instanceof Key) return found
  throw xksFailure('InternalException', 'the access check did not run')
}

const refusals: Readonly<Record<UseRefusal, XksError>> = {
  destroyed: 'KeyNotFoundException',
  archived: 'InvalidStateException',
  state: 'InvalidStateException',
  'not yet': 'InvalidStateException',
  'no longer': 'InvalidStateException',
  'usage mask': 'InvalidKeyUsageException',
  policy: 'InvalidKeyUsageException',
}

/**
 * Whether AWS KMS may use the key so now. What is not Active is disabled to AWS KMS, also for decryption, which elsewhere
 * a deactivated key still does.
 */
export function requireXksUse(
  key: Key,
  use: 'encrypt' | 'decrypt',
  { services }: OperationContext<KmsServices>,
): void {
  const verdict = key.mayUse(use, services.clock.now())
  if (!verdict.allowed) throw xksFailure(refusals[verdict.why], verdict.sentence)
  if (key.state !== 'Active')
    throw xksFailure('InvalidStateException', `The key is ${key.state}: it is disabled for AWS KMS.`)
  if (!isAes256Gcm(key))
    throw xksFailure('InvalidKeyUsageException', 'AWS KMS uses AES keys of 256 bits that do AES-GCM.')
}

export function isAes256Gcm({ object }: Key): boolean {
  const { type, algorithm, bits, boundAlg } = object
  return (
    type === 'SymmetricKey' &&
    algorithm === 'AES' &&
    bits === 256 &&
    (boundAlg === undefined || boundAlg === 'A256GCM')
  )
}

const plan: CipherPlan = planCipher('AES', 32, noParameters, { fips: false })

/** AES-256-GCM with an IV of 96 bits that is made here, and a tag of 128 bits. Whether it is permitted, the key's use says. */
export function gcmPlan(): CipherPlan {
  return plan
}

/**
 * What is authenticated beside the ciphertext: both parts with their lengths, so that none of one can pass as the other
 * (XKS Proxy API, Encrypt, `ciphertextMetadata`).
 */
export function authenticatedData(aad: Uint8Array, metadata: Uint8Array): Buffer {
  const data = Buffer.allocUnsafe(3 + aad.length + metadata.length)
  data.writeUInt16BE(aad.length, 0)
  data.set(aad, 2)
  data[2 + aad.length] = metadata.length
  data.set(metadata, 3 + aad.length)
  return data
}
