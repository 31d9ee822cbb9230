import { X509Certificate } from 'node:crypto'
import { Failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  type BackendKey,
  type CryptographicParameters,
  joseMac,
  noParameters,
  planMac,
  planSignature,
  sameTag,
  softwareKey,
  verifyOffLoop,
  whyDecryptionEncrypts,
} from '@warder/crypto'
import {
  findPrivateKeyId,
  getChainId,
  type Key,
  type ManagedObject,
  processingVersion,
  protectingVersion,
  type Right,
  readStoredWithTag,
  requireUse,
  takeUse,
  type Usage,
} from '@warder/keys'
import { type StructureNode, Tag } from '@warder/kmip-codec'
import { type KeyInUse, readParameters } from '../../crypto/parameters.ts'
import type { KmipContext } from '../../engine/types.ts'
import { KmipFailure, kmipFailure } from '../../failure/failure.ts'
import {
  requireBinding,
  requireSignatureBinding,
  requireUnwrappingBinding,
  requireWrappingBinding,
} from '../../key-blocks/key-binding.ts'
import {
  requireOpenable,
  type WrappingData,
  type WrappingKeyInformation,
} from '../../key-blocks/key-wrapping.ts'
import { type Authenticator, type WrappingKeys, wrappingPlan } from '../../key-blocks/wrap.ts'
import { algorithmInUse, requireOneWay, requireRight, takeInvocation } from '../crypto/key-use.ts'

/** The keys that a wrapping names, with the identifiers of the versions in use. */
export interface NamedWrappingKeys extends WrappingKeys {
  readonly identifiers: { readonly encryption: string | undefined; readonly mac: string | undefined }
}

type Named = Pick<WrappingData, 'method' | 'encryption' | 'mac'>

/** `bytes`: the wrapped length, for the usage limits of the wrapping key. */
export type WrappingPurpose = { readonly wrap: true; readonly bytes: number } | { readonly wrap: false }

export const toUnwrap: WrappingPurpose = { wrap: false }

/**
 * Decrypts the keys that wrap or unwrap. The caller needs the right to encrypt (to decrypt) with the wrapping key, and
 * the usage mask and state of the key must permit it: Active to wrap, and not PreActive or destroyed to unwrap. A
 * wrapping counts as a use. If a public key or a certificate is named to unwrap, these conditions apply to its private
 * key, which unwraps.
 * @throws KeyValueNotPresent for a wrapping that does not name its keys, WrappingObjectNotFound,
 *   WrappingObjectDestroyed, WrappingObjectArchived, PermissionDenied, WrongKeyLifecycleState,
 *   IncompatibleCryptographicUsageMask
 */
export async function wrappingKeys(
  context: KmipContext,
  named: Named,
  purpose: WrappingPurpose,
): Promise<NamedWrappingKeys> {
  if (!purpose.wrap) requireOpenable(named)
  const { encryption, mac } = named
  const [right, use] = purpose.wrap ? (['encrypt', 'wrapKey'] as const) : (['decrypt', 'unwrapKey'] as const)
  const opened = encryption && (await openNamed(context, encryption, right, use))
  if (opened !== undefined) await requireWrappingRights(context, opened, purpose)
  const authenticator = mac && (await findAuthenticator(context, mac, purpose))
  // Counted last: a refused wrapping is not a use of the keys.
  if (opened !== undefined && purpose.wrap) await countWrapping(context, opened, purpose.bytes)
  if (authenticator !== undefined && purpose.wrap) takeUse(context, authenticator.object, 0, true)
  if (opened !== undefined) context.audit({ details: { wrapping_key: opened.object.id } })
  return {
    encryption: opened && { key: opened.inUse, parameters: opened.parameters },
    mac: authenticator,
    identifiers: {
      encryption: opened?.object.id,
      mac: authenticator?.object.id,
    },
  }
}

/** The named wrapping key, in any version. @throws WrappingObjectNotFound, PermissionDenied … */
export async function wrappingKeyNamed(
  context: KmipContext,
  { identifier }: WrappingKeyInformation,
): Promise<string> {
  return getChainId((await requirePermitted(context, context.identifier(identifier), 'encrypt')).object)
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
  const named = context.identifier(information.identifier)
  const id = use === 'unwrapKey' ? await unwrapping(context, named) : named
  const key = await chooseVersion(context, await requirePermitted(context, id, right), use)
  const { object } = key
  requireUsable(context, object, use)
  const [own] = readStoredWithTag(object, Tag.CryptographicParameters)
  return {
    inUse: { algorithm: algorithmInUse(object), key: await findHeldKey(context, key) },
    parameters: information.parameters ?? (own?.type === 'Structure' ? own : undefined),
    object,
  }
}

const protects: ReadonlySet<Usage> = new Set<Usage>(['wrapKey', 'macGenerate', 'sign'])

/**
 * The newest version of the named key wraps, and the block names that version; the key that unwraps is exactly
 * the version that the block names (docs/adr/rotation.md).
 * @throws WrongKeyLifecycleState for wrapping with a replaced version, and for one below `min_decrypt_version`
 */
async function chooseVersion({ objects }: KmipContext, key: Key, use: Usage): Promise<Key> {
  const reader = { get: (id: string) => objects.key(id) }
  try {
    return await (protects.has(use) ? protectingVersion(reader, key) : processingVersion(reader, key))
  } catch (error) {
    if (error instanceof Failure && error.kind === 'crypto_failure')
      throw kmipFailure('WrongKeyLifecycleState', error.message)
    throw error
  }
}

/** An object wrapped for a public key names the public key; the private key unwraps it. */
async function unwrapping(context: KmipContext, named: string): Promise<string> {
  const object = await context.objects.read(named)
  const isOpen = object?.type === 'PublicKey' || object?.type === 'Certificate'
  return (isOpen ? findPrivateKeyId(object) : undefined) ?? named
}

async function requirePermitted(context: KmipContext, id: string, right: Right): Promise<Key> {
  try {
    return await context.permittedKey(id, right)
  } catch (error) {
    if (error instanceof KmipFailure && error.code === 'ObjectNotFound')
      throw kmipFailure('WrappingObjectNotFound', 'DENIED')
    if (error instanceof KmipFailure && error.code === 'ObjectArchived')
      throw kmipFailure('WrappingObjectArchived', 'The wrapping key is archived: recover it first.')
    throw error
  }
}

function requireUsable(context: KmipContext, object: ManagedObject, use: Usage): void {
  try {
    requireUse(context, object, use)
  } catch (error) {
    if (error instanceof KmipFailure && error.code === 'ObjectDestroyed')
      throw kmipFailure('WrappingObjectDestroyed', 'DENIED')
    throw error
  }
}

async function findHeldKey(context: KmipContext, key: Key): Promise<BackendKey> {
  const { object } = key
  if (object.form.wrapped === true)
    throw kmipFailure(
      'KeyValueNotPresent',
      'The wrapping key was itself registered wrapped and cannot be used on this server.',
    )
  if (object.type !== 'Certificate') return key.held
  const material = await context.objects.material(object)
  if (material === undefined)
    throw kmipFailure('KeyValueNotPresent', 'The certificate is not stored on this server.')
  return softwareKey(new X509Certificate(material).publicKey)
}

/**
 * Wrapping encrypts material that the caller may have chosen, and unwrapping decrypts for the caller: in modes in which
 * one has the effect of the other, both rights are required, as for Encrypt and Decrypt (docs/adr/rights-and-reach.md).
 * @throws PermissionDenied, BadCryptographicParameters
 */
async function requireWrappingRights(
  context: KmipContext,
  { inUse, parameters, object }: Opened,
  purpose: WrappingPurpose,
): Promise<void> {
  const { policy } = context.services
  const wrapping = { key: inUse, parameters }
  if (purpose.wrap) requireWrappingBinding(object, wrapping, policy)
  else requireUnwrappingBinding(object, wrapping, policy)
  const plan = wrappingPlan(wrapping, policy)
  if (plan === undefined) return
  await (purpose.wrap
    ? requireOneWay(context, object, plan, { iv: undefined, bytes: purpose.bytes, inParts: false })
    : requireRight(context, object, 'encrypt', whyDecryptionEncrypts(plan)))
}

/** Counts usage limits and the limit of SP 800-38D §8.3 for random IVs. */
async function countWrapping(
  context: KmipContext,
  { object, parameters }: Opened,
  bytes: number,
): Promise<void> {
  takeUse(context, object, bytes, true)
  if (object.algorithm !== 'AES' || parameters === undefined) return
  const { blockCipherMode } = readParameters(parameters)
  if (blockCipherMode === 'GCM' || blockCipherMode === 'AEAD') await takeInvocation(context, object)
}

async function findAuthenticator(
  context: KmipContext,
  information: WrappingKeyInformation,
  { wrap }: WrappingPurpose,
): Promise<Authenticator & { readonly object: ManagedObject }> {
  const id = context.identifier(information.identifier)
  const known = await context.objects.read(id)
  const symmetric = known === undefined || known.type === 'SymmetricKey'
  const right = symmetric ? 'mac' : wrap ? 'sign' : 'signatureverify'
  const use = symmetric ? (wrap ? 'macGenerate' : 'macVerify') : wrap ? 'sign' : 'verify'
  const opened = await openNamed(context, information, right, use)
  const { policy } = context.services
  const authenticator = symmetric ? macWith(opened, policy) : signatureWith(opened, policy, wrap)
  return { ...authenticator, object: opened.object }
}

function macWith({ inUse, parameters, object }: Opened, policy: AlgorithmPolicy): Authenticator {
  const { algorithm, key } = inUse
  const plan = planMac({ algorithm, key: key.shape }, readChosen(parameters), policy)
  requireBinding(object, joseMac(plan))
  return {
    sign: async (data) => key.mac(plan, data),
    verify: async (data, mac) => sameTag(await key.mac(plan, data), mac),
  }
}

function signatureWith(
  { inUse: { key }, parameters, object }: Opened,
  policy: AlgorithmPolicy,
  wrap: boolean,
): Authenticator {
  const asked = planSignature(key.shape, readChosen(parameters), policy, wrap ? 'sign' : 'verify')
  const plan = requireSignatureBinding(object, key.shape, asked)
  return {
    sign: (data) => key.sign(plan, { data }),
    verify: async (data, mac) =>
      key.publicKey !== undefined && verifyOffLoop(key.publicKey, plan, { data }, mac),
  }
}

function readChosen(parameters: StructureNode | undefined): CryptographicParameters {
  return parameters === undefined ? noParameters : readParameters(parameters)
}
