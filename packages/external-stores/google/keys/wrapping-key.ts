import { Failure, failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  afterCountingUse,
  asObjectId,
  type CipherPlan,
  CryptoFailure,
  everyPrincipal,
  getChainId,
  type Key,
  noParameters,
  planCipher,
  processingVersion,
  protectingVersion,
  requireKeyUse,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import type { ExternalStoreServices } from '../../scope/services.ts'
import { granteeNamed, requireGrantedKey } from '../../stores/granted-key.ts'
import { type BlobKind, blobAad, readBlob, writeBlob } from './wrapped-blob.ts'

type Context = OperationContext<ExternalStoreServices>

/** Resource and perimeter that a wrapped secret belongs to. */
export interface Binding {
  readonly kind: BlobKind
  /** Empty for a private key, which is its user's. */
  readonly resourceName: string
  /** Empty: none. */
  readonly perimeterId: string
}

export interface OpenedBlob {
  /** The caller wipes it. */
  readonly secret: Buffer
  readonly perimeterId: string
}

const plans = new WeakMap<AlgorithmPolicy, CipherPlan>()

/** AES-256-GCM, if the policy permits it. */
function gcmPlan(policy: AlgorithmPolicy): CipherPlan {
  const known = plans.get(policy) ?? planCipher('AES', 32, noParameters, policy)
  plans.set(policy, known)
  return known
}

/**
 * Wraps a secret with the wrapping key of the settings, for `principal`, to whom its use must have been granted.
 * @param kid the key that wraps now: of one that was rotated its newest version does
 * @returns base64
 */
export async function wrapSecret(
  context: Context,
  kid: string,
  principal: string,
  binding: Binding,
  secret: Uint8Array,
): Promise<string> {
  const { services } = context
  const key = await wrappingVersion(services, principal, kid)
  context.audit({ object: kid, algorithm: 'A256GCM' })
  requireAes256(key)
  requireKeyUse(key, 'encrypt', context)
  await services.budgets.take(key.object)
  const head = { ...binding, kid: key.object.id }
  const aad = blobAad(head, binding.resourceName)
  const input = { data: secret, iv: undefined, aad }
  const { data, iv, tag } = await key.held.encrypt(gcmPlan(services.policy), input)
  if (iv === undefined || tag === undefined) throw failure('internal_error', 'A256GCM returned no IV or tag')
  const blob = writeBlob({ ...head, iv, ciphertext: data, tag })
  return await afterCountingUse(context, key, secret.length, blob.toString('base64'))
}

async function wrappingVersion(
  services: ExternalStoreServices,
  principal: string,
  kid: string,
): Promise<Key> {
  const key = await requireGrantedKey(services, granteeNamed('google', principal), kid, 'encrypt')
  await services.namedKeys.require(key)
  return protectingVersion(services.keys, key)
}

/**
 * Decrypts the output of `wrapSecret`, also with an older version of the wrapping key, or with an earlier wrapping key:
 * one that was granted to `principal` and has the same owner as the current one.
 * @throws failure('bad_request') if it cannot be decrypted as this kind and for this resource, with the same message
 *   for all causes
 */
export async function unwrapSecret(
  context: Context,
  kid: string,
  principal: string,
  kind: BlobKind,
  resourceName: string,
  bytes: Buffer,
  member: string,
): Promise<OpenedBlob> {
  const { services } = context
  const blob = readBlob(bytes, kind)
  if (blob === undefined) throw doesNotOpen(member)
  context.audit({ object: blob.kid, algorithm: 'A256GCM' })
  const granted = await requireGrantedKey(services, granteeNamed('google', principal), kid, 'decrypt')
  const current = await services.namedKeys.require(granted)
  const key = await versionNamed(context, current, principal, blob.kid, member)
  requireAes256(key)
  requireKeyUse(key, 'decrypt', context)
  const input = { data: blob.ciphertext, iv: blob.iv, tag: blob.tag, aad: blobAad(blob, resourceName) }
  try {
    return { secret: await key.held.decrypt(gcmPlan(services.policy), input), perimeterId: blob.perimeterId }
  } catch (error) {
    if (error instanceof CryptoFailure && error.code === 'decryption_failed') throw doesNotOpen(member)
    throw error
  }
}

/** Accepts only keys of the same owner as earlier wrapping keys, no matter what other owners granted. */
async function versionNamed(
  { services }: Context,
  current: Key,
  principal: string,
  kid: string,
  member: string,
): Promise<Key> {
  const id = asObjectId(kid)
  const named = id === undefined ? undefined : await services.keys.get(id)
  if (named === undefined || named.object.owner !== current.object.owner) throw doesNotOpen(member)
  const chain = getChainId(named.object)
  if (chain !== getChainId(current.object) && !(await isGranted(services, principal, chain)))
    throw doesNotOpen(member)
  return processingVersion(services.keys, named)
}

async function isGranted(services: ExternalStoreServices, principal: string, kid: string): Promise<boolean> {
  try {
    await requireGrantedKey(services, granteeNamed('google', principal), kid, 'decrypt')
    return true
  } catch (error) {
    if (error instanceof Failure && (error.kind === 'not_found' || error.kind === 'forbidden')) return false
    throw error
  }
}

function doesNotOpen(member: string): Error {
  return failure('bad_request', `${member}: was not wrapped by this service for this use.`)
}

/** Requires a wrapping key that can be used now. @throws Failure with the reason */
export async function requireWrappingKey(services: ExternalStoreServices, kid: string): Promise<void> {
  const key = await wrappingVersion(services, everyPrincipal, kid)
  requireAes256(key)
  const verdict = key.mayUse('encrypt', services.clock.now())
  if (!verdict.allowed) throw failure('crypto_failure', verdict.sentence)
}

function requireAes256(key: Key): void {
  const { object } = key.requireBoundTo('A256GCM')
  if (object.type === 'SymmetricKey' && object.algorithm === 'AES' && object.bits === 256) return
  throw failure('crypto_failure', 'The wrapping key is not an AES key of 256 bits.')
}
