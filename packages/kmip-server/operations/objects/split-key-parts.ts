import type { KeyPart, SplitKeyMethod } from '@warder/crypto'
import { type AlgorithmName, type ManagedObject, readStoredWithTag } from '@warder/keys'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  findMember,
  integer,
  requireMember,
  requireName,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  toBigInteger,
  toMagnitude,
} from '@warder/kmip-codec'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import { toStoredBlock } from '../../key-blocks/write-object.ts'

/** Description shared by all parts of one key. */
export interface PartDescription {
  readonly method: SplitKeyMethod
  readonly parts: number
  readonly threshold: number
  readonly primeFieldSize: Uint8Array | undefined
  /** Algorithm and length of the whole key. */
  readonly algorithm: AlgorithmName | undefined
  readonly bits: number | undefined
}

/** A SplitKey object (KMIP 2.1 §2.2.6). */
export function partNode(description: PartDescription, { identifier, bytes }: KeyPart): StructureNode {
  const { method, parts, threshold, primeFieldSize, algorithm, bits } = description
  return structure(Tag.SplitKey, [
    integer(Tag.SplitKeyParts, parts),
    integer(Tag.KeyPartIdentifier, identifier),
    integer(Tag.SplitKeyThreshold, threshold),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod[method]),
    primeFieldSize === undefined ? undefined : toBigInteger(Tag.PrimeFieldSize, primeFieldSize),
    structure(Tag.KeyBlock, [
      enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
      structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, bytes)]),
      algorithm === undefined
        ? undefined
        : enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[algorithm]),
      bits === undefined ? undefined : integer(Tag.CryptographicLength, bits),
    ]),
  ])
}

/**
 * A stored part, generated here or registered.
 * @throws InvalidObjectType, KeyValueNotPresent for a wrapped part
 */
export async function readPart(
  object: ManagedObject,
  { objects }: Pick<KmipContext, 'objects'>,
): Promise<PartDescription & { readonly part: KeyPart }> {
  if (object.type !== 'SplitKey')
    throw kmipFailure('InvalidObjectType', 'The object is not a part of a split key.')
  const material = await objects.material(object)
  if (material === undefined)
    throw kmipFailure('KeyValueNotPresent', 'The value of the part is not stored on this server.')
  try {
    const node = toStoredBlock(material)
    const { value, algorithm, bits } = readKeyBlock(node)
    const bytes = value === undefined || value instanceof Uint8Array ? undefined : value.material
    if (bytes?.type !== 'ByteString')
      throw kmipFailure('KeyValueNotPresent', 'The part is stored wrapped: it cannot be used on this server.')
    const prime = findMember(node, Tag.PrimeFieldSize)
    return {
      method: requireName(node, Tag.SplitKeyMethod, 'SplitKeyMethod'),
      parts: requireMember(node, Tag.SplitKeyParts, 'Integer'),
      threshold: requireMember(node, Tag.SplitKeyThreshold, 'Integer'),
      primeFieldSize: prime?.type === 'BigInteger' ? Uint8Array.from(toMagnitude(prime)) : undefined,
      algorithm,
      bits,
      part: {
        identifier: requireMember(node, Tag.KeyPartIdentifier, 'Integer'),
        bytes: Buffer.from(bytes.value),
      },
    }
  } finally {
    material.fill(0)
  }
}

/** PrimeFieldSize of a request as a magnitude. */
export function primeAsked(value: Uint8Array | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : toMagnitude({ tag: Tag.PrimeFieldSize, type: 'BigInteger', value })
}

export function isSensitive(object: ManagedObject): boolean {
  return readStoredWithTag(object, Tag.Sensitive).some(({ value }) => value === true)
}

/**
 * Attributes of an object that is created from a sensitive one, regardless of the request: it is sensitive
 * from the start, so AlwaysSensitive is true (KMIP 2.1 §4.3).
 */
export function sensitive(attributes: readonly TtlvNode[]): readonly TtlvNode[] {
  return [...attributes.filter(({ tag }) => tag !== Tag.Sensitive), boolean(Tag.Sensitive, true)]
}
