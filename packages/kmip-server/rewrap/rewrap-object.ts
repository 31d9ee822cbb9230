import { Failure, failure } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import {
  findPrivateKeyId,
  type GcmBudgets,
  getChainId,
  type Key,
  type ManagedObject,
  mayUse,
  processingVersion,
  protectingVersion,
  readStoredWithTag,
  stageUse,
  type UnitOfWork,
  type Usage,
} from '@warder/keys'
import { encodeTtlv, type StructureNode, Tag, type TtlvNode } from '@warder/kmip-codec'
import { readParameters } from '../crypto/parameters.ts'
import { KmipFailure } from '../failure/failure.ts'
import { requireUnwrappingBinding, requireWrappingBinding } from '../key-blocks/key-binding.ts'
import { readKeyBlock } from '../key-blocks/key-block.ts'
import { type WrappingData, writeWrappingData } from '../key-blocks/key-wrapping.ts'
import { readAlgorithm } from '../key-blocks/object-shape.ts'
import { unwrapKeyValue, type WrappingKey, type WrappingKeys, wrapKeyValue } from '../key-blocks/wrap.ts'
import { toStoredBlock } from '../key-blocks/write-object.ts'

export interface RewrapServices {
  readonly objects: UnitOfWork
  readonly budgets: GcmBudgets
  readonly policy: AlgorithmPolicy
  /** Unix milliseconds. */
  readonly now: number
}

/** The old and the new version of the wrapping key of an object. */
export interface Rewrapped {
  readonly from: string
  readonly to: string
}

/**
 * Rewraps an object that a client registered wrapped, with the newest version of its wrapping key, and stages the
 * change. Its KeyWrappingData and its WrappingKeyLink then name that version.
 * @returns the reason, if it cannot be rewrapped
 */
export async function stageRewrap(
  services: RewrapServices,
  object: ManagedObject,
): Promise<Rewrapped | { readonly left: string }> {
  const material = await services.objects.material(object)
  if (material === undefined) return { left: 'the service does not have its value' }
  try {
    return await moveBlock(services, object, toStoredBlock(material))
  } catch (error) {
    if (error instanceof KmipFailure || error instanceof Failure) return { left: error.message }
    throw error
  } finally {
    material.fill(0)
  }
}

async function moveBlock(
  services: RewrapServices,
  object: ManagedObject,
  block: StructureNode,
): Promise<Rewrapped | { readonly left: string }> {
  const { objects } = services
  const { value, wrapping } = readKeyBlock(block)
  const identifier = wrapping?.encryption?.identifier
  if (wrapping === undefined || !(value instanceof Uint8Array) || identifier?.type !== 'TextString')
    return { left: 'it does not name its wrapping key' }
  if (wrapping.method !== 'Encrypt') return { left: `it is wrapped by the method ${wrapping.method}` }
  const old = await objects.key(identifier.value)
  if (old === undefined || old.object.owner !== object.owner)
    return { left: 'the wrapping key is not of its owner' }
  const newest = await findNewest(objects, old)
  if (newest.object.id === old.object.id) return { left: 'the newest version does not protect yet' }
  const opener = await findOpener(objects, old)
  if (opener === undefined) return { left: 'the private half of the wrapping key is not here' }
  requireUse(opener.object, 'unwrapKey', services)
  requireUse(newest.object, 'wrapKey', services)
  const openers = keysFor(opener, wrapping)
  const keys = keysFor(newest, wrapping)
  requireUnwrappingBinding(opener.object, openers.encryption, services.policy)
  requireWrappingBinding(newest.object, keys.encryption, services.policy)
  const plain = await unwrapKeyValue(value, wrapping, openers, services.policy)
  await countUse(services, newest, keys, value.length)
  const specification = { ...wrapping, attributes: [] }
  const made = await wrapKeyValue(plain.material, plain.attributes, specification, keys, services.policy)
  const data = writeWrappingData(made.data, { encryption: newest.object.id, mac: undefined })
  const links = object.links.map((link) =>
    link.kind === 'WrappingKeyLink' && link.id === identifier.value
      ? { ...link, id: newest.object.id }
      : link,
  )
  objects.update(object, { links }, encodeTtlv(withWrapped(block, made.value, data)))
  return { from: identifier.value, to: newest.object.id }
}

/**
 * The version that protects.
 * @throws Failure for a version that is disabled, or that its key no longer permits to process
 */
async function findNewest(objects: UnitOfWork, old: Key): Promise<Key> {
  const reader = { get: (id: string) => objects.key(id) }
  await processingVersion(reader, old)
  const first = await objects.key(getChainId(old.object))
  return first === undefined ? old : protectingVersion(reader, first)
}

/** The private key unwraps an object wrapped by a public key. */
async function findOpener(objects: UnitOfWork, old: Key): Promise<Key | undefined> {
  if (old.object.type !== 'PublicKey') return old
  const id = findPrivateKeyId(old.object)
  const half = id === undefined ? undefined : await objects.key(id)
  return half?.object.owner === old.object.owner ? half : undefined
}

/** @throws Failure */
function requireUse(object: ManagedObject, use: Usage, { now, policy }: RewrapServices): void {
  const verdict = mayUse(object, use, now, policy)
  if (!verdict.allowed) throw failure('crypto_failure', `the wrapping key ${object.id}: ${verdict.sentence}`)
}

function keysFor(
  { object, held }: Key,
  { encryption }: WrappingData,
): WrappingKeys & { readonly encryption: WrappingKey } {
  const algorithm = readAlgorithm(object)
  if (algorithm === undefined) throw failure('crypto_failure', 'the wrapping key is no key')
  const [own] = readStoredWithTag(object, Tag.CryptographicParameters)
  const parameters = encryption?.parameters ?? (own?.type === 'Structure' ? own : undefined)
  return { encryption: { key: { algorithm, key: held }, parameters }, mac: undefined }
}

/**
 * A wrapping counts as a use: for usage limits, and for the limit of SP 800-38D §8.3 for random IVs.
 * @throws Failure
 */
async function countUse(
  { objects, budgets }: RewrapServices,
  { object }: Key,
  keys: WrappingKeys,
  bytes: number,
) {
  if (!stageUse(objects, object, bytes, true))
    throw failure('crypto_failure', 'the newest version of the wrapping key has used up its usage limits')
  const parameters = keys.encryption?.parameters
  if (object.algorithm !== 'AES' || parameters === undefined) return
  const { blockCipherMode } = readParameters(parameters)
  if (blockCipherMode === 'GCM' || blockCipherMode === 'AEAD') await budgets.take(object)
}

/** The object with another wrapped key; the rest is unchanged. */
function withWrapped(object: StructureNode, value: TtlvNode, wrapping: StructureNode): StructureNode {
  const members = object.value.map((member) => {
    if (member.tag !== Tag.KeyBlock || member.type !== 'Structure') return member
    const inner = member.value.map((one) => {
      if (one.tag === Tag.KeyValue) return value
      return one.tag === Tag.KeyWrappingData ? wrapping : one
    })
    return { ...member, value: inner }
  })
  return { ...object, value: members }
}
