import {
  byteString,
  Enumeration,
  type OperationName,
  type StructureNode,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'

/** Tags of the outputs of cryptographic operations. */
const outputs: ReadonlySet<number> = new Set([Tag.Data, Tag.SignatureData, Tag.MACData])

/** The output that a Data enumeration refers to (KMIP 2.1 §11.13): its operation and its tag. */
const sources: ReadonlyMap<number, readonly [operation: OperationName, tag: number]> = new Map([
  [Enumeration.Data.Decrypt, ['Decrypt', Tag.Data]],
  [Enumeration.Data.Encrypt, ['Encrypt', Tag.Data]],
  [Enumeration.Data.Hash, ['Hash', Tag.Data]],
  [Enumeration.Data.MACMACData, ['MAC', Tag.MACData]],
  [Enumeration.Data.RNGRetrieve, ['RNGRetrieve', Tag.Data]],
  [Enumeration.Data.SignSignatureData, ['Sign', Tag.SignatureData]],
  [Enumeration.Data.SignatureVerify, ['SignatureVerify', Tag.Data]],
])

/** Outputs of the operations of a batch. Later items can use them without the client seeing them. */
export class BatchData {
  readonly #last = new Map<string, Uint8Array>()

  took(operation: OperationName, payload: readonly TtlvNode[]): void {
    for (const node of payload)
      if (node.type === 'ByteString' && outputs.has(node.tag))
        this.#last.set(`${operation} ${node.tag}`, node.value)
  }

  /**
   * Replaces references in the payload by the last output of the earlier item that they name.
   * @throws kmipFailure InvalidField when there is none
   */
  resolved(payload: StructureNode): StructureNode {
    if (!payload.value.some(isReference)) return payload
    const value = payload.value.map((node) => (isReference(node) ? this.#output(node) : node))
    return { ...payload, value }
  }

  #output(node: TtlvNode): TtlvNode {
    const source = sources.get(Number(node.value))
    const bytes = source && this.#last.get(`${source[0]} ${source[1]}`)
    if (bytes === undefined)
      throw kmipFailure('InvalidField', 'No earlier item of the batch has returned this data.')
    return byteString(node.tag, bytes)
  }
}

function isReference({ tag, type }: TtlvNode): boolean {
  return type === 'Enumeration' && (tag === Tag.Data || tag === Tag.DigestedData)
}

/** The answer without its outputs, for items that the client marks as ephemeral (KMIP 2.1 §8.3). */
export function withoutOutputs(payload: readonly TtlvNode[]): readonly TtlvNode[] {
  return payload.filter(({ tag }) => !outputs.has(tag))
}
