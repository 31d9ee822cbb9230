import { type OperationName, Tag, type TtlvNode, valueName } from '@warder/kmip-codec'
import { kmipFailure } from '../failure/failure.ts'
import { definePayload, field, type GivenPayload, required } from '../payloads/payload.ts'

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

/** The object of a request; absent: that of the placeholder. */
export const namedObject = field.identifier(Tag.UniqueIdentifier)

/** A request that contains only its object. */
export const objectRequest = definePayload({ uniqueIdentifier: namedObject })

/** A reply that contains only the identifier of its object. */
export const objectReply = definePayload({ uniqueIdentifier: required(namedObject) })

export type ObjectReply = GivenPayload<typeof objectReply>
