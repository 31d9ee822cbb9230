import type { WantedForm, WrappingSpecification } from '../../key-blocks/index.ts'

/** How Get and Export are asked for an object (KMIP 2.1 §6.1.19, §6.1.18). */
export interface WantedObject extends WantedForm {
  readonly wrapType: 'NotWrapped' | 'AsRegistered' | undefined
  readonly specification: WrappingSpecification | undefined
}
