import type { WrappingSpecification } from '../../key-blocks/key-wrapping.ts'
import type { WantedForm } from '../../key-blocks/write-object.ts'

/** The requested form of an object in Get and Export (KMIP 2.1 §6.1.19, §6.1.18). */
export interface WantedObject extends WantedForm {
  readonly wrapType: 'NotWrapped' | 'AsRegistered' | undefined
  readonly specification: WrappingSpecification | undefined
}
