import { Enumeration, Tag, type TtlvNode } from '@warder/kmip-codec'

/**
 * Permitted differences between a printed response and a conformant one: the list of KMIP Profiles §4.1 "Permitted Test
 * Case Variations" (the same in 1.4 and 2.1) and nothing else. If it permits more than is needed to run the cases, the
 * comparison stays strict.
 */

/** Position that the rules check. */
export interface Where {
  /** As the item names it: `Encrypt`. */
  readonly operation: string
  /** The object of the item was made by the server, so its material is not the printed one. */
  readonly generated: boolean
  /** The output of the operation contains something random: a fresh IV, OAEP or PSS padding, a random number. */
  readonly random: boolean
  /** The decrypted data came from the test case, not from this server. */
  readonly printedInput: boolean
  /** The request names the attributes that it wants. */
  readonly selective: boolean
  /** The request limits the number of results (MaximumItems). */
  readonly paged: boolean
  /** The request carries a CorrelationValue: it goes on with a stream that is open. */
  readonly continues: boolean
  /** A message only has to be there: its words are the server's own. */
  readonly ownWords: boolean
  readonly version: string
}

const madeOutput: ReadonlySet<number> = new Set([
  Tag.Data,
  Tag.SignatureData,
  Tag.MACData,
  Tag.IVCounterNonce,
  Tag.AuthenticatedEncryptionTag,
])
const material: ReadonlySet<number> = new Set([
  Tag.Key,
  Tag.KeyMaterial,
  Tag.KeyValue,
  Tag.DigestValue,
  Tag.Modulus,
  Tag.PrivateExponent,
  Tag.QString,
  Tag.D,
])
const outputOperations: ReadonlySet<string> = new Set(['Encrypt', 'Sign', 'MAC', 'RNGRetrieve'])

/** Bytes that the server may choose (§4.1.1 items 7, 8, 11); they then replace the printed ones. */
export function choosesBytes(tag: number, where: Where): boolean {
  // A made-up ciphertext under a key that the server made decrypts to anything.
  if (where.operation === 'Decrypt') return tag === Tag.Data && where.generated && where.printedInput
  if (madeOutput.has(tag)) return outputOperations.has(where.operation) && (where.generated || where.random)
  return material.has(tag) && where.generated
}

/** Values that the server may choose, whatever they are printed as (items 6, 12, 13, 20 and "response variations"). */
export function choosesValue(tag: number, where: Where): boolean {
  switch (tag) {
    case Tag.AsynchronousCorrelationValue:
    case Tag.ServerCorrelationValue:
    case Tag.PKCS_11OutputParameters: // names the library and its maker
      return true
    case Tag.ResultMessage:
      return where.ownWords
    case Tag.VendorIdentification:
      return where.operation === 'Query'
    case Tag.HashingAlgorithm:
    case Tag.KeyFormatType:
      return where.generated && where.operation.startsWith('GetAttribute')
    default:
      return false
  }
}

/** Structures that must be present, with content of the server: its random number generator, its description. */
export function choosesInside(tag: number): boolean {
  return tag === Tag.RandomNumberGenerator || tag === Tag.ServerInformation
}

/** The same for an attribute of 1.x by its name. */
export function choosesAttribute(name: string): boolean {
  return name === 'Random Number Generator'
}

const makers: ReadonlySet<string> = new Set([
  'Create',
  'CreateKeyPair',
  'CreateSplitKey',
  'DeriveKey',
  'JoinSplitKey',
  'ReKey',
  'ReKeyKeyPair',
  'Register',
])

/** Values that the server creates anew each time: a repeated placeholder then has another value. */
export function isIssuedAnew(tag: number, where: Where): boolean {
  switch (tag) {
    case Tag.AsynchronousCorrelationValue:
    case Tag.ServerCorrelationValue:
      return true
    case Tag.CorrelationValue:
      return !where.continues
    case Tag.UniqueIdentifier:
    case Tag.PrivateKeyUniqueIdentifier:
    case Tag.PublicKeyUniqueIdentifier:
      return makers.has(where.operation)
    default:
      return false
  }
}

/** The server chooses the order of the objects that it finds: the standard defines none for Locate. */
export function choosesOrder(tag: number, where: Where): boolean {
  return tag === Tag.UniqueIdentifier && where.operation === 'Locate' && where.paged
}

/** Members that a server may send or leave out. */
export function mayBeAbsent(node: TtlvNode, where: Where): boolean {
  switch (node.tag) {
    case Tag.ServerCorrelationValue:
    case Tag.ClientCorrelationValue:
      return true
    // "A server MAY elect to omit this value", and "MAY elect to return" it (KMIP 1.4 §4.9, 2.1 §6.1.27).
    case Tag.LocatedItems:
      return where.operation === 'Locate'
    case Tag.AttributeIndex:
      return node.value === 0
    case Tag.TemplateAttribute:
    case Tag.PrivateKeyTemplateAttribute:
    case Tag.PublicKeyTemplateAttribute:
      return where.version.startsWith('1.')
    default:
      return false
  }
}

const toClients: ReadonlySet<number> = new Set([
  Enumeration.Operation.Notify,
  Enumeration.Operation.Put,
  Enumeration.Operation.SetEndpointRole,
])

/** Printed members of a Query response that no profile requires: operations that servers send to clients, Template. */
export function mayBeMissing(node: TtlvNode, where: Where): boolean {
  if (where.operation !== 'Query' || node.type !== 'Enumeration') return false
  if (node.tag === Tag.Operation) return toClients.has(node.value)
  return node.tag === Tag.ObjectType && node.value === Enumeration.ObjectType.Template
}

/** Members beyond the printed ones (items 14 to 17, 19). */
export function mayBeAdded(where: Where): boolean {
  if (where.operation === 'Query' || where.operation === 'GetAttributeList') return true
  return where.operation === 'GetAttributes' && !where.selective
}

const setLike: ReadonlySet<string> = new Set(['GetAttributes', 'GetAttributeList', 'Query', 'Locate'])

/** Structures whose members have no order: attributes, and lists of supported or found items. */
export function isUnordered(tag: number, where: Where): boolean {
  if (tag === Tag.Attributes || tag === Tag.TemplateAttribute) return true
  return tag === Tag.ResponsePayload && setLike.has(where.operation)
}
