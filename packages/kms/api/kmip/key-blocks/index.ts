/**
 * Key blocks of KMIP: managed objects out of requests (`readManagedObject`), back into answers in every format that a
 * key has (`writeManagedObject`), wrapped and unwrapped (`wrapKeyValue`, `unwrapObject`). Pure: no storage, no rights.
 */

export {
  type CertificateFacts,
  certificateFacts,
  certificateNodes,
} from './certificate-facts.ts'
export { digestAttributes } from './digest.ts'
export { type KeyBlock, type PlainKeyValue, readKeyBlock } from './key-block.ts'
export { type KeyFormat, keyFormatNumber, readKeyFormat } from './key-format.ts'
export {
  readWrappingData,
  readWrappingSpecification,
  requireOpenable,
  type WrappingData,
  type WrappingKeyInformation,
  type WrappingSpecification,
  writeWrappingData,
} from './key-wrapping.ts'
export { type ObjectHints, readManagedObject, type StoredObject } from './read-object.ts'
export type { CryptographicAlgorithm, KmipObjectType, PointCompression, StoredShape } from './stored-shape.ts'
export {
  type Authenticator,
  unwrapKeyValue,
  unwrapObject,
  type WrappedKeyValue,
  type WrappingKey,
  type WrappingKeys,
  wrapKeyValue,
  wrappingPlan,
} from './wrap.ts'
export {
  type KeyInForm,
  keyInForm,
  keyObject,
  objectWithoutValue,
  toStoredBlock,
  type WantedForm,
  writeManagedObject,
} from './write-object.ts'
