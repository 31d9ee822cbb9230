import { Enumeration, Tag, type TtlvNode, tagName } from '@warder/kmip-codec'
import type { XmlElement } from '@warder/kmip-codec/testing'
import { type Bindings, parsePlaceholder } from '../cases/bindings.ts'
import { findChild, listOperations } from '../cases/test-case.ts'
import { compareNode, type Difference } from './compare.ts'
import { type Expected, readExpected } from './expected.ts'
import type { Where } from './permitted.ts'
import { formatNode } from './show.ts'

/** Facts about the objects of a case: which the server made, their algorithms and their padding. */
export interface Known {
  readonly generated: Set<string>
  readonly algorithms: Map<string, string>
  /** PaddingMethod of their CryptographicParameters, which applies if a request names none. */
  readonly paddings: Map<string, string>
}

/** A difference and the operation of the item that has it. */
export interface StepDifference extends Difference {
  readonly operation: string
}

/** One exchange as it happened. */
export interface Exchange {
  /** As it was sent. */
  readonly request: XmlElement
  /** As the test case prints it. */
  readonly response: XmlElement
  readonly actual: TtlvNode
  readonly version: string
  readonly bindings: Bindings
  readonly known: Known
  readonly now: number
  /** Result messages only have to be there. */
  readonly ownWords: boolean
}

/** Compares a whole response, item by item. */
export function compareResponse(exchange: Exchange): readonly StepDifference[] {
  const { actual, response, request } = exchange
  const expected = readExpected(response)
  const [first = 'none'] = listOperations(request)
  if (actual.type !== 'Structure' || actual.tag !== Tag.ResponseMessage)
    return [{ operation: first, path: '', sentence: 'is no ResponseMessage' }]
  const differences: StepDifference[] = []
  const header = expected.children.find(({ node }) => node.tag === Tag.ResponseHeader)
  const actualHeader = actual.value.find(({ tag }) => tag === Tag.ResponseHeader)
  if (header !== undefined) {
    const where = describePosition(exchange, undefined, first, undefined)
    differences.push(...addOperation(first, compareOne(header, actualHeader, where, exchange)))
  }
  const items = expected.children.filter(({ node }) => node.tag === Tag.BatchItem)
  const actualItems = actual.value.filter(({ tag }) => tag === Tag.BatchItem)
  const requestItems = request.children.filter(({ name }) => name === 'BatchItem')
  for (const [index, item] of items.entries()) {
    const operation = findChild(requestItems[index], 'Operation')?.attributes.get('value') ?? first
    const found = actualItems[index]
    const where = describePosition(exchange, requestItems[index], operation, found)
    differences.push(...addOperation(operation, compareOne(item, found, where, exchange)))
    learn(exchange, requestItems[index], operation, found)
    describe(exchange.bindings, requestItems[index], item)
  }
  for (const _ of actualItems.slice(items.length))
    differences.push({ operation: first, path: 'BatchItem', sentence: 'is one more than expected' })
  return differences
}

/** Remembers the texts with which a request creates the object of a placeholder. */
function describe(bindings: Bindings, request: XmlElement | undefined, expected: Expected): void {
  const payload = expected.children.find(({ node }) => node.tag === Tag.ResponsePayload)
  const made = payload?.children.find(({ node }) => node.tag === Tag.UniqueIdentifier)
  const name = parsePlaceholder(made?.printed)
  const operation = findChild(request, 'Operation')?.attributes.get('value') ?? ''
  if (request === undefined || name === undefined || (!makers.has(operation) && operation !== 'Register'))
    return
  bindings.describe(name, textsIn(request))
}

function textsIn({ attributes, children }: XmlElement): readonly string[] {
  const own = attributes.get('type') === 'TextString' ? [attributes.get('value') ?? ''] : []
  return [...own, ...children.flatMap(textsIn)]
}

function addOperation(operation: string, differences: readonly Difference[]): readonly StepDifference[] {
  return differences.map((difference) => ({ ...difference, operation }))
}

function compareOne(
  expected: Expected,
  actual: TtlvNode | undefined,
  where: Where,
  { bindings, now }: Exchange,
): readonly Difference[] {
  const name = tagName(expected.node.tag) ?? ''
  if (actual === undefined) return [{ path: name, sentence: 'is missing' }]
  return compareNode(expected, actual, name, { where, bindings, now })
}

const makers: ReadonlySet<string> = new Set([
  'Create',
  'CreateKeyPair',
  'ReKey',
  'ReKeyKeyPair',
  'CreateSplitKey',
])
const identifiers: ReadonlySet<number> = new Set([
  Tag.UniqueIdentifier,
  Tag.PrivateKeyUniqueIdentifier,
  Tag.PublicKeyUniqueIdentifier,
])

function describePosition(
  { known, version, bindings, ownWords }: Exchange,
  item: XmlElement | undefined,
  operation: string,
  actual: TtlvNode | undefined,
): Where {
  const payload = findChild(item, 'RequestPayload')
  const [asked] = [...identifiersIn(actual)]
  const object = asked ?? findChild(payload, 'UniqueIdentifier')?.attributes.get('value') ?? ''
  return {
    operation,
    version,
    ownWords,
    generated: known.generated.has(object),
    random: isRandom(operation, known, object, payload, actual),
    paged: findChild(payload, 'MaximumItems') !== undefined,
    continues: findChild(payload, 'CorrelationValue') !== undefined,
    printedInput: !bindings.knows(findChild(payload, 'Data')?.attributes.get('value') ?? ''),
    selective:
      findChild(payload, 'AttributeReference') !== undefined ||
      findChild(payload, 'AttributeName') !== undefined,
  }
}

/** Whether the output of an operation is different each time. */
function isRandom(
  operation: string,
  { algorithms, paddings }: Known,
  object: string,
  payload: XmlElement | undefined,
  actual: TtlvNode | undefined,
): boolean {
  if (operation === 'RNGRetrieve') return true
  const algorithm = algorithms.get(object)
  // RSA is encrypted to with random padding (OAEP, PKCS#1 v1.5); other ciphers are told apart by a fresh IV.
  if (operation === 'Encrypt') return algorithm === 'RSA' || membersIn(actual).has(Tag.IVCounterNonce)
  if (operation !== 'Sign') return false
  const parameters = findChild(payload, 'CryptographicParameters')
  const padding = findChild(parameters, 'PaddingMethod')?.attributes.get('value') ?? paddings.get(object)
  return algorithm === 'EC' || algorithm === 'ECDSA' || padding === 'PSS'
}

/** Remembers the statements of the item about its object. */
function learn(
  { known, bindings }: Exchange,
  item: XmlElement | undefined,
  operation: string,
  actual: TtlvNode | undefined,
): void {
  const algorithm = item === undefined ? undefined : algorithmIn(item)
  const padding = item === undefined ? undefined : paddingIn(item)
  for (const id of identifiersIn(actual)) {
    if (makers.has(operation)) known.generated.add(id)
    if (algorithm !== undefined && !known.algorithms.has(id)) known.algorithms.set(id, algorithm)
    if (padding !== undefined && !known.paddings.has(id)) known.paddings.set(id, padding)
  }
  if (actual !== undefined && isSuccess(actual)) rememberIn(actual, bindings)
}

/**
 * CryptographicAlgorithm of a new object, wherever the request contains it (2.x attribute, 1.x attribute, key block).
 */
function algorithmIn(element: XmlElement): string | undefined {
  const value = element.attributes.get('value')
  if (element.name === 'CryptographicAlgorithm') return value
  if (element.name === 'Attribute') {
    const name = findChild(element, 'AttributeName')?.attributes.get('value')
    if (name === 'Cryptographic Algorithm')
      return findChild(element, 'AttributeValue')?.attributes.get('value')
  }
  for (const child of element.children) {
    const found = algorithmIn(child)
    if (found !== undefined) return found
  }
  return undefined
}

/** PaddingMethod of a new object, wherever the request contains it. */
function paddingIn(element: XmlElement): string | undefined {
  if (element.name === 'PaddingMethod') return element.attributes.get('value')
  for (const child of element.children) {
    const found = paddingIn(child)
    if (found !== undefined) return found
  }
  return undefined
}

function isSuccess(item: TtlvNode): boolean {
  return (
    item.type === 'Structure' &&
    item.value.some(
      ({ tag, value }) => tag === Tag.ResultStatus && value === Enumeration.ResultStatus.Success,
    )
  )
}

function getPayload(item: TtlvNode | undefined): readonly TtlvNode[] {
  if (item?.type !== 'Structure') return []
  const payload = item.value.find(({ tag }) => tag === Tag.ResponsePayload)
  return payload?.type === 'Structure' ? payload.value : []
}

function* identifiersIn(item: TtlvNode | undefined): Iterable<string> {
  for (const node of getPayload(item))
    if (identifiers.has(node.tag) && typeof node.value === 'string') yield node.value
}

function membersIn(item: TtlvNode | undefined): ReadonlySet<number> {
  return new Set(getPayload(item).map(({ tag }) => tag))
}

function rememberIn(item: TtlvNode, bindings: Bindings): void {
  for (const node of getPayload(item)) {
    const name = tagName(node.tag)
    if (name !== undefined && node.type !== 'Structure') bindings.remember(name, formatNode(node))
  }
}
