import { Failure, failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  type CipherPlan,
  CryptoFailure,
  noParameters,
  planCipher,
} from '@warder/crypto'
import {
  afterCountingUse,
  asObjectId,
  everyPrincipal,
  getChainId,
  type Key,
  processingVersion,
  protectingVersion,
  requireKeyUse,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { granteeNamed, requireGrantedKey } from '../scope/granted-key.ts'
import type { ExternalStoreServices } from '../scope/scope.ts'

/**
 * Blob that Google stores with an encrypted object and sends back for decryption:
 *
 *     'WGC' | 0x01 | kind | length, key id | length, perimeter | IV (12) | ciphertext | tag (16)
 *
 * Lengths are one byte. The additional authenticated data is everything before the IV, followed by the resource name: a
 * blob can be decrypted only with its key, for its resource and as its kind. It contains its perimeter, because takeout
 * and migration have to decrypt it without this information (docs/adr/google-and-microsoft.md).
 */
export interface WrappedBlob {
  readonly kind: BlobKind
  /** The version of the wrapping key that unwraps it. */
  readonly kid: string
  /** Empty: none. */
  readonly perimeterId: string
  readonly iv: Uint8Array
  readonly ciphertext: Uint8Array
  readonly tag: Uint8Array
}

type BlobHead = Pick<WrappedBlob, 'kind' | 'kid' | 'perimeterId'>

const kinds = { 'data key': 1, 'private key': 2 } as const
type BlobKind = keyof typeof kinds

const start = Buffer.from([0x57, 0x47, 0x43, 0x01])
const ivBytes = 12
const tagBytes = 16

function headBytes({ kind, kid, perimeterId }: BlobHead): Buffer {
  return Buffer.concat([start, Buffer.of(kinds[kind]), prefix(kid), prefix(perimeterId)])
}

function prefix(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length > 255) throw failure('bad_request', 'A name is longer than 255 bytes.')
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

/** The additional authenticated data. @param resource empty for a secret without a resource */
export function blobAad(head: BlobHead, resource: string): Buffer {
  return Buffer.concat([headBytes(head), Buffer.from(resource, 'utf8')])
}

export function writeBlob(blob: WrappedBlob): Buffer {
  return Buffer.concat([headBytes(blob), blob.iv, blob.ciphertext, blob.tag])
}

/** @returns undefined for bytes that were not written by `writeBlob` for this kind */
export function readBlob(bytes: Buffer, kind: BlobKind): WrappedBlob | undefined {
  if (bytes.length < start.length + 1 || !bytes.subarray(0, start.length).equals(start)) return undefined
  if (bytes[start.length] !== kinds[kind]) return undefined
  const kid = readPrefixed(bytes, start.length + 1)
  const perimeter = kid && readPrefixed(bytes, kid.end)
  if (kid === undefined || perimeter === undefined) return undefined
  const rest = bytes.subarray(perimeter.end)
  if (rest.length <= ivBytes + tagBytes) return undefined
  return {
    kind,
    kid: kid.text,
    perimeterId: perimeter.text,
    iv: rest.subarray(0, ivBytes),
    ciphertext: rest.subarray(ivBytes, -tagBytes),
    tag: rest.subarray(-tagBytes),
  }
}

function readPrefixed(
  bytes: Buffer,
  at: number,
): { readonly text: string; readonly end: number } | undefined {
  const length = bytes[at]
  if (length === undefined || at + 1 + length > bytes.length) return undefined
  const end = at + 1 + length
  const text = bytes.toString('utf8', at + 1, end)
  // Bytes that are not UTF-8 would not be the same when they are written again.
  return Buffer.byteLength(text) === length ? { text, end } : undefined
}

type Context = OperationContext<ExternalStoreServices>

/** Resource and perimeter of a wrapped secret. */
interface Binding {
  readonly kind: BlobKind
  /** Empty for a private key, which belongs to a user. */
  readonly resourceName: string
  /** Empty: none. */
  readonly perimeterId: string
}

interface OpenedBlob {
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
 * @param kid the current wrapping key; a rotated key wraps with its newest version
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
