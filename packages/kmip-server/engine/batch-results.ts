import {
  byteString,
  Enumeration,
  type OperationName,
  type StructureNode,
  Tag,
  type TtlvNode,
  valueName,
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

/**
 * Objects that earlier items of a batch created or found. Later items can use them without naming them (KMIP 2.1 §6.1,
 * §11.58).
 */
export class BatchIdentifiers {
  /** undefined = the ID placeholder is empty. */
  placeholder: string | undefined
  readonly #all: string[] = []
  readonly #byOperation = new Map<string, string>()

  /** Stores the identifiers of a successful answer. */
  took(operation: OperationName, payload: readonly TtlvNode[]): void {
    for (const { tag, value } of payload) {
      if (typeof value !== 'string') continue
      if (tag === Tag.UniqueIdentifier) this.#note(operation, value)
      else if (tag === Tag.PrivateKeyUniqueIdentifier) {
        this.#note(operation, value)
        this.#byOperation.set(`${operation}PrivateKey`, value)
      } else if (tag === Tag.PublicKeyUniqueIdentifier) {
        this.#all.push(value)
        this.#byOperation.set(`${operation}PublicKey`, value)
      }
    }
  }

  #note(operation: string, id: string): void {
    this.#all.push(id)
    this.#byOperation.set(operation, id)
  }

  /**
   * Resolves a node to an identifier. Text: itself; absent or IDPlaceholder: the placeholder; another enumeration: the
   * last result of that operation in this batch; a number: the result at that index, from the end if negative.
   * @throws kmipFailure InvalidField, ObjectNotFound
   */
  resolve(node: TtlvNode | undefined): string {
    const id = this.#meant(node)
    if (id === undefined)
      throw kmipFailure(
        'ObjectNotFound',
        'UniqueIdentifier is missing, and no earlier item of the batch has set the ID placeholder.',
      )
    return id
  }

  #meant(node: TtlvNode | undefined): string | undefined {
    switch (node?.type) {
      case undefined:
        return this.placeholder
      case 'TextString':
        return node.value
      case 'Enumeration': {
        const name = valueName('UniqueIdentifier', node.value)
        return name === 'IDPlaceholder' ? this.placeholder : this.#byOperation.get(name ?? '')
      }
      case 'Integer':
        return this.#all.at(node.value)
      default:
        throw kmipFailure('InvalidField', 'A unique identifier must be text, an enumeration or a number.')
    }
  }
}
