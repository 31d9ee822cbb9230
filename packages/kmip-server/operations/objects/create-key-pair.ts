import type { KeyObject } from 'node:crypto'
import {
  type AlgorithmName,
  algorithmNode,
  type CurveName,
  defaultKeyFormat,
  type KeyFormat,
  type NewObjectRequest,
  newObjectId,
  type ObjectId,
  type PairPlan,
  pairPlan,
  readClientId,
  stageNewObject,
  toStoredKeyKind,
  withDefaults,
} from '@warder/keys'
import {
  Enumeration,
  enumeration,
  findAttribute,
  structure,
  Tag,
  type TtlvNode,
  valueName,
} from '@warder/kmip-codec'
import { asksForAbe } from '../../attributes/abe-request.ts'
import {
  pairStorageMasks,
  readFormat,
  readLength,
  requireAlgorithm,
  requireQuantumSafe,
  requireSoftwarePair,
} from '../../attributes/wanted-key.ts'
import { creates, defineOperation, pairAttributes, pairReply } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { KmipFailure, kmipFailure } from '../../failure/failure.ts'
import { digestAttributes, keyFormatNode } from '../../key-blocks/digest.ts'
import type { StoredShape } from '../../key-blocks/stored-shape.ts'
import { definePayload } from '../../payloads/payload.ts'
import { createMaster } from '../abe/create-keys.ts'
import { findRequestedHsm, stageHsmPair } from './hsm-keys.ts'

/** CreateKeyPair (KMIP 2.1 §6.1.9): two objects with links to each other, stored in one commit. */
export const createKeyPair = defineOperation({
  name: 'CreateKeyPair',
  reach: ['make object'],
  asks: ['get'],
  access: creates,
  request: definePayload({ ...pairAttributes, storageMasks: pairStorageMasks }),
  reply: pairReply,
  async handle({ common, ofPrivate, ofPublic, storageMasks }, context) {
    const { rules } = context
    const half = (type: 'PrivateKey' | 'PublicKey', own: readonly TtlvNode[]) =>
      withDefaults(rules, type, withoutHalfType(mergeAttributes(common, own)))
    const secret = half('PrivateKey', ofPrivate)
    const open = half('PublicKey', ofPublic)
    const hsm = findRequestedHsm(context, secret, storageMasks)
    if (hsm === undefined) requireSoftwarePair(storageMasks)
    if (asksForAbe([...secret, ...open])) return createMaster(context, secret, open)
    const plan = pairPlan({ ...readPairRequest(secret, open), fips: context.services.fips })
    for (const half of [secret, open]) requireQuantumSafe(half, plan.algorithm, plan.bits)
    requireAlike(secret, open)
    const ids =
      hsm === undefined
        ? await stagePair(context, plan, secret, open)
        : await stageHsmPair(context, plan, secret, open, hsm)
    const details = { linked: ids.publicId, ...(hsm !== undefined && { hsm: hsm.hsm.name }) }
    context.audit({ object: ids.privateId, algorithm: plan.algorithm, details })
    context.placeholder = ids.privateId
    return { privateKeyUniqueIdentifier: ids.privateId, publicKeyUniqueIdentifier: ids.publicId }
  },
})

/** Makes a pair and stages both halves. */
export async function stagePair(
  context: KmipContext,
  plan: PairPlan,
  secret: readonly TtlvNode[],
  open: readonly TtlvNode[],
): Promise<{ readonly privateId: string; readonly publicId: string }> {
  const privateId = readClientId(secret) ?? newObjectId(context.now)
  const publicId = readClientId(open) ?? newObjectId(context.now)
  if (privateId === publicId)
    throw kmipFailure('InvalidAttributeValue', 'The keys of a pair must have different identifiers.')
  for (const request of await makePair(plan, { privateId, publicId }, secret, open)) {
    try {
      stageNewObject(context, request)
    } finally {
      request.material?.fill(0)
    }
  }
  return { privateId, publicId }
}

/** Makes a pair. @returns the private half, then the public one; the caller wipes their bytes */
async function makePair(
  plan: PairPlan,
  { privateId, publicId }: { readonly privateId: ObjectId; readonly publicId: ObjectId },
  secret: readonly TtlvNode[],
  open: readonly TtlvNode[],
): Promise<readonly [NewObjectRequest, NewObjectRequest]> {
  const pair = await plan.make()
  const halves = { PrivateKey: exportDer(pair.privateKey), PublicKey: exportDer(pair.publicKey) }
  const half = (type: HalfType, attributes: readonly TtlvNode[]): NewObjectRequest => {
    const material = halves[type]
    const { algorithm, bits, curve } = plan
    const kind = { algorithm, bits, ...(curve !== undefined && { curve }) }
    const { keyFormat, digests } = inFormat(type, kind, halves, readFormat(attributes))
    const given = [algorithmNode(algorithm), ...digests, keyFormatNode(keyFormat), ...domainParameters(plan)]
    return {
      type,
      ...toStoredKeyKind({ algorithm, curve }),
      bits,
      material,
      attributes,
      given,
      id: type === 'PrivateKey' ? privateId : publicId,
      linkedId: type === 'PrivateKey' ? publicId : privateId,
      generated: true,
    }
  }
  return [half('PrivateKey', secret), half('PublicKey', open)]
}

/** Algorithms on elliptic curves, of which some have no ECPrivateKey (RFC 5915). */
const elliptic: ReadonlySet<AlgorithmName> = new Set<AlgorithmName>([
  'EC',
  'ECDSA',
  'ECDH',
  'Ed25519',
  'Ed448',
])

type HalfType = 'PrivateKey' | 'PublicKey'
type Halves = Readonly<Record<HalfType, Uint8Array>>

/**
 * The format of a half, with its digests. Clients name one format for the pair, mostly that of the private key, in
 * CommonAttributes or for both halves: it applies to the half that it fits, and the other one has its default.
 * @throws KeyFormatTypeNotSupported for a format that neither half has
 */
function inFormat(
  type: HalfType,
  kind: Pick<StoredShape, 'algorithm' | 'bits' | 'curve'>,
  halves: Halves,
  asked: KeyFormat | undefined,
): { readonly keyFormat: KeyFormat; readonly digests: readonly TtlvNode[] } {
  const formatHalf = (half: HalfType, keyFormat: KeyFormat) => ({
    keyFormat,
    digests: digestAttributes({ ...kind, objectType: half, form: 'canonical', keyFormat }, halves[half]),
  })
  const defaultHalf = () => formatHalf(type, defaultKeyFormat(type, kind))
  // PKCS#8 is a format of private keys (RFC 5208), although Get gives a public one under that name as well.
  if (asked === undefined || (asked === 'PKCS_8' && type === 'PublicKey')) return defaultHalf()
  try {
    return formatHalf(type, asked)
  } catch (error) {
    if (!(error instanceof KmipFailure) || error.code !== 'KeyFormatTypeNotSupported') throw error
    const hasFamily = asked === 'ECPrivateKey' && kind.algorithm !== undefined && elliptic.has(kind.algorithm)
    // Throws if the format does not fit the other half either.
    if (!hasFamily) formatHalf(type === 'PrivateKey' ? 'PublicKey' : 'PrivateKey', asked)
    return defaultHalf()
  }
}

/** Removes an ObjectType of either half: clients name one half for the pair (PrivateKey in CommonAttributes). */
function withoutHalfType(attributes: readonly TtlvNode[]): readonly TtlvNode[] {
  const { PrivateKey, PublicKey } = Enumeration.ObjectType
  return attributes.filter(
    ({ tag, value }) => tag !== Tag.ObjectType || (value !== PrivateKey && value !== PublicKey),
  )
}

/** The stored form of keys: PKCS#8 or SubjectPublicKeyInfo. */
function exportDer(key: KeyObject): Buffer {
  return key.type === 'private'
    ? key.export({ format: 'der', type: 'pkcs8' })
    : key.export({ format: 'der', type: 'spki' })
}

function domainParameters({ curve }: PairPlan): readonly TtlvNode[] {
  if (curve === undefined) return []
  return [
    structure(Tag.CryptographicDomainParameters, [
      enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[curve]),
    ]),
  ]
}

/** Attributes of one half replace those of both (KMIP 2.1 §6.1.9). */
export function mergeAttributes(common: readonly TtlvNode[], own: readonly TtlvNode[]): readonly TtlvNode[] {
  const tags = new Set(own.map(({ tag }) => tag))
  return [...common.filter(({ tag }) => findAttribute(tag)?.multiple === true || !tags.has(tag)), ...own]
}

function readPairRequest(secret: readonly TtlvNode[], open: readonly TtlvNode[]) {
  const all = [...secret, ...open]
  return { algorithm: requireAlgorithm(all), bits: readLength(all), curve: readCurve(all) }
}

/**
 * Algorithm, length and curve belong to the pair: both halves must have the same values (KMIP 2.1 §6.1.9).
 */
function requireAlike(secret: readonly TtlvNode[], open: readonly TtlvNode[]): void {
  const [one, other] = [secret, open].map((half) => ({
    algorithm: half.find(({ tag }) => tag === Tag.CryptographicAlgorithm)?.value,
    bits: readLength(half),
    curve: readCurve(half),
  }))
  for (const name of ['algorithm', 'bits', 'curve'] as const) {
    const [here, there] = [one?.[name], other?.[name]]
    if (here !== undefined && there !== undefined && here !== there)
      throw kmipFailure('InvalidField', `The keys of a pair must have the same ${name}.`)
  }
}

function readCurve(attributes: readonly TtlvNode[]): CurveName | undefined {
  const domain = attributes.find(({ tag }) => tag === Tag.CryptographicDomainParameters)
  if (domain?.type !== 'Structure') return undefined
  const node = domain.value.find(({ tag }) => tag === Tag.RecommendedCurve)
  if (node === undefined) return undefined
  const curve = node.type === 'Enumeration' ? valueName('RecommendedCurve', node.value) : undefined
  if (curve === undefined) throw kmipFailure('InvalidField', 'RecommendedCurve is unknown.')
  return curve
}
