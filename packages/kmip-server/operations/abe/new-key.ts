import {
  type AbeForm,
  type AttributeSource,
  abeAlgorithm,
  abeBits,
  algorithmNode,
  type NewObjectRequest,
  type ObjectId,
  unrestricted,
} from '@warder/keys'
import { integer, Tag, type TtlvNode } from '@warder/kmip-codec'
import { ordinaryAttributes } from '../../attributes/abe-request.ts'
import { readFormat } from '../../attributes/wanted-key.ts'
import { kmipFailure } from '../../failure/failure.ts'

export interface NewAbeKey {
  readonly type: 'PrivateKey' | 'PublicKey'
  readonly material: Uint8Array
  readonly form: AbeForm
  readonly attributes: readonly TtlvNode[]
  readonly id?: ObjectId
  readonly linkedId?: ObjectId
  readonly generated: boolean
  /** Source of the attributes. */
  readonly source?: AttributeSource
}

/**
 * Members for `stageNewObject` of an attribute-based key. Its usage mask is that of the client plus Unrestricted, as in
 * the deployed product: no other mask describes the use of these keys.
 * @throws kmipFailure KeyFormatTypeNotSupported
 */
export function newAbeKey({
  type,
  material,
  form,
  attributes,
  generated,
  ...ids
}: NewAbeKey): NewObjectRequest {
  requireFormat(attributes)
  const said = attributes.find(({ tag }) => tag === Tag.CryptographicUsageMask)
  const mask = typeof said?.value === 'number' ? said.value : 0
  const rest = ordinaryAttributes(attributes).filter(
    ({ tag }) =>
      tag !== Tag.CryptographicUsageMask && tag !== Tag.CryptographicAlgorithm && tag !== Tag.ObjectType,
  )
  return {
    type,
    algorithm: abeAlgorithm,
    bits: abeBits(material),
    material,
    form: { abe: form },
    attributes: [...rest, integer(Tag.CryptographicUsageMask, mask | unrestricted)],
    given: [algorithmNode('CoverCrypt')],
    generated,
    ...ids,
  }
}

/** Attributes common to both halves of a pair may name the format of either. */
const formats: ReadonlySet<string> = new Set(['CoverCryptSecretKey', 'CoverCryptPublicKey'])

function requireFormat(attributes: readonly TtlvNode[]): void {
  const wanted = readFormat(attributes)
  if (wanted !== undefined && !formats.has(wanted))
    throw kmipFailure(
      'KeyFormatTypeNotSupported',
      'This key format type is not allowed for attribute-based keys.',
    )
}
