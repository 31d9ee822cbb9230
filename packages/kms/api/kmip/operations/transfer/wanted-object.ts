import type { WantedForm, WrappingSpecification } from '../../key-blocks/index.ts'

/** The requested form of an object in Get and Export (KMIP 2.1 §6.1.19, §6.1.18). */
export interface WantedObject extends WantedForm {
  readonly wrapType: 'NotWrapped' | 'AsRegistered' | undefined
  readonly specification: WrappingSpecification | undefined
}
