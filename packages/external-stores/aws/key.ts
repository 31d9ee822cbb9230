import { Failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  type CipherPlan,
  CryptoFailure,
  noParameters,
  planCipher,
} from '@warder/crypto'
import {
  aliasPrefix,
  externalPrefix,
  getChainId,
  Key,
  type ObjectId,
  processingVersion,
  protectingVersion,
  type Right,
  resolveKid,
  type UseRefusal,
} from '@warder/keys'
import type { Access, OperationContext } from '@warder/server'
import { requireGrantedKey } from '../scope/granted-key.ts'
import type { ExternalStoreServices } from '../scope/scope.ts'
import { granteeInStore } from './access-key-store.ts'
import type { AccessKeys } from './access-keys.ts'
import {
  keyNamedIn,
  type RequestMetadata,
  recordMetadata,
  type XksError,
  type XksRoute,
  xksFailure,
} from './request.ts'

/**
 * Finds the key in the path, if `right` on it was granted to the principal that AWS KMS names, in the key store of the
 * signing access key (docs/adr/cloud-key-stores.md). The path contains the id of a key, or an alias of the creator of
 * that access key. Decryption uses the key that the ciphertext names, which may be another version of the key in the
 * path, or the key to which the alias referred at encryption.
 */
export function awsRight(
  { accessKeys, store }: Pick<XksRoute, 'accessKeys' | 'store'>,
  right: Right,
  version: 'newest' | 'of the ciphertext',
): Access<ExternalStoreServices> {
  return {
    name: `key right granted to aws: ${right}`,
    async check({ path, body }, context) {
      const { requestMetadata, ciphertextMetadata } = body as {
        readonly requestMetadata: RequestMetadata
        readonly ciphertextMetadata?: string
      }
      const { services } = context
      const { externalKeyId = '' } = path
      recordMetadata(context, requestMetadata, {
        object: externalKeyId,
        ...(right !== 'getattributes' && { algorithm: 'AES_GCM' }),
      })
      const grantee = granteeInStore(store, requestMetadata.awsPrincipalArn)
      const requireGranted = (id: string): Promise<Key> => requireGrantedKey(services, grantee, id, right)
      const exactId = version === 'newest' ? undefined : keyNamedIn(ciphertextMetadata)
      try {
        const named = await findNamedKey(accessKeys, context, externalKeyId)
        const isAlias = named !== externalKeyId
        if (isAlias) context.audit({ object: named })
        const found = await requireGranted(named)
        context.found =
          version === 'newest'
            ? await protectingVersion(services.keys, found)
            : await exactKey(services, found, { exactId, isAlias, granted: requireGranted })
      } catch (thrown) {
        rethrowRefusal(thrown)
      }
    },
  }
}

/** Ids take precedence, so an alias cannot replace a key. */
async function findNamedKey(
  accessKeys: AccessKeys,
  { services, principal }: OperationContext<ExternalStoreServices>,
  externalKeyId: string,
): Promise<string> {
  const known = await services.keys.get(externalKeyId as ObjectId)
  if (known !== undefined) return externalKeyId
  const accessKey = await accessKeys.get(principal?.name.slice(externalPrefix('aws').length) ?? '')
  if (accessKey?.createdBy === undefined) return externalKeyId
  return (await resolveKid(services, accessKey.createdBy, `${aliasPrefix}${externalKeyId}`)) ?? externalKeyId
}

interface Exact {
  readonly exactId: string | undefined
  readonly isAlias: boolean
  granted(id: string): Promise<Key>
}

/** @throws xksFailure('InvalidCiphertextException') for a ciphertext of a key to which the path does not refer */
async function exactKey(
  { keys }: ExternalStoreServices,
  key: Key,
  { exactId, isAlias, granted }: Exact,
): Promise<Key> {
  if (exactId === undefined || exactId === key.object.id) return processingVersion(keys, key)
  const exact = await keys.get(exactId as ObjectId)
  const other = () => xksFailure('InvalidCiphertextException', 'the ciphertext belongs to another key')
  if (exact === undefined) throw other()
  const id = getChainId(exact.object)
  if (id === getChainId(key.object)) return processingVersion(keys, exact)
  if (!isAlias) throw other()
  // The key to which the alias referred at encryption must be granted, too.
  await granted(id)
  return processingVersion(keys, exact)
}

/** Reports refusals of the service under their names in the API. */
export function rethrowRefusal(thrown: unknown): never {
  if (thrown instanceof Failure && thrown.kind === 'not_found')
    throw xksFailure('KeyNotFoundException', thrown.message)
  // The version was replaced, or is too old.
  if (thrown instanceof Failure && thrown.kind === 'crypto_failure')
    throw xksFailure('InvalidStateException', thrown.message)
  throw thrown
}

/** Key found by `awsRight`. */
export function requireResolvedKey({ found }: OperationContext<ExternalStoreServices>): Key {
  if (found instanceof Key) return found
  throw xksFailure('InternalException', 'the access check did not run')
}

const refusals: Readonly<Record<UseRefusal, XksError>> = {
  destroyed: 'KeyNotFoundException',
  archived: 'InvalidStateException',
  disabled: 'InvalidStateException',
  'awaits destruction': 'InvalidStateException',
  state: 'InvalidStateException',
  'not yet': 'InvalidStateException',
  'no longer': 'InvalidStateException',
  'usage mask': 'InvalidKeyUsageException',
  policy: 'InvalidKeyUsageException',
}

/**
 * Whether AWS KMS may use the key in this way now. AWS KMS sees keys that are not Active as disabled, also for
 * decryption, although other front ends still decrypt with a deactivated key.
 */
export function requireXksUse(
  key: Key,
  use: 'encrypt' | 'decrypt',
  { services, principal }: OperationContext<ExternalStoreServices>,
): void {
  const now = services.clock.now()
  const verdict = key.mayUse(use, now)
  if (!verdict.allowed) throw xksFailure(refusals[verdict.why], verdict.sentence)
  if (key.state !== 'Active')
    throw xksFailure('InvalidStateException', `The key is ${key.state}: it is disabled for AWS KMS.`)
  if (!isAes256Gcm(key))
    throw xksFailure('InvalidKeyUsageException', 'AWS KMS requires an AES key of 256 bits for AES-GCM.')
  services.uses.note(getChainId(key.object), principal?.name ?? 'aws', now)
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

const plans = new WeakMap<AlgorithmPolicy, CipherPlan>()

/**
 * AES-256-GCM with an IV of 96 bits that this service generates, and a tag of 128 bits.
 * @throws xksFailure('InvalidKeyUsageException') if the policy of the server does not permit it
 */
export function gcmPlan(policy: AlgorithmPolicy): CipherPlan {
  const known = plans.get(policy)
  if (known !== undefined) return known
  try {
    const plan = planCipher('AES', 32, noParameters, policy)
    plans.set(policy, plan)
    return plan
  } catch (error) {
    if (error instanceof CryptoFailure || error instanceof Failure)
      throw xksFailure('InvalidKeyUsageException', error.message)
    throw error
  }
}

export function permitsGcm(policy: AlgorithmPolicy): boolean {
  try {
    return gcmPlan(policy) !== undefined
  } catch {
    return false
  }
}

/**
 * The additional authenticated data: both parts with their lengths, so that bytes of one part cannot be moved to the
 * other (XKS Proxy API, Encrypt, `ciphertextMetadata`).
 */
export function joinAuthenticatedData(aad: Uint8Array, metadata: Uint8Array): Buffer {
  const data = Buffer.allocUnsafe(3 + aad.length + metadata.length)
  data.writeUInt16BE(aad.length, 0)
  data.set(aad, 2)
  data[2 + aad.length] = metadata.length
  data.set(metadata, 3 + aad.length)
  return data
}
