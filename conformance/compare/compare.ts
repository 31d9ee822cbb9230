import { Buffer } from 'node:buffer'
import { type StructureNode, Tag, type TtlvNode, tagText } from '@warder/kmip-codec'
import { type Bindings, parseMoment, parsePlaceholder } from '../cases/bindings.ts'
import type { Expected } from './expected.ts'
import {
  choosesAttribute,
  choosesBytes,
  choosesInside,
  choosesOrder,
  choosesValue,
  isIssuedAnew,
  isUnordered,
  mayBeAbsent,
  mayBeAdded,
  mayBeMissing,
  type Where,
} from './permitted.ts'
import { formatNode, show } from './show.ts'

/** One thing that is not as the test case prints it. */
export interface Difference {
  /** From the item inwards: `ResponsePayload/Attributes/State`. */
  readonly path: string
  readonly sentence: string
}

/** Context of a comparison besides the two trees. */
export interface Comparison {
  readonly where: Where
  readonly bindings: Bindings
  /** Milliseconds since 1970, after the response came. */
  readonly now: number
}

/** Clocks are read in whole seconds on both sides. */
const clockToleranceMs = 2000

/** Compares a node with the printed one, and assigns values to placeholders. An empty list: they match. */
export function compareNode(
  expected: Expected,
  actual: TtlvNode,
  path: string,
  comparison: Comparison,
): readonly Difference[] {
  if (expected.node.type !== actual.type) {
    if (choosesValue(actual.tag, comparison.where)) return []
    return [{ path, sentence: `must be of type ${expected.node.type}, is ${actual.type} ${show(actual)}` }]
  }
  return actual.type === 'Structure'
    ? compareMembers(expected, actual, path, comparison)
    : compareScalar(expected, actual, path, comparison)
}

function compareScalar(
  { node, printed }: Expected,
  actual: TtlvNode,
  path: string,
  { where, bindings, now }: Comparison,
): readonly Difference[] {
  const shift = parseMoment(printed) ?? shiftOfPrinted(node, bindings)
  if (shift !== undefined && actual.type === 'DateTime') {
    const earliest = bindings.started + shift * 1000 - clockToleranceMs
    const latest = now + shift * 1000 + clockToleranceMs
    const at = actual.value * 1000
    return at >= earliest && at <= latest
      ? []
      : [{ path, sentence: `must be ${printed}, is ${show(actual)}` }]
  }
  const text = formatNode(actual)
  const placeholder = parsePlaceholder(printed)
  if (placeholder !== undefined) {
    const bound = bindings.valueOf(placeholder)
    if (bound === undefined || (bound !== text && isIssuedAnew(actual.tag, where)))
      bindings.bind(placeholder, text)
    else if (bound !== text && !(choosesOrder(actual.tag, where) && bindings.reorder(placeholder, text)))
      return [{ path, sentence: `must be $${placeholder} = ${bound}, is ${show(actual)}` }]
    if (choosesOrder(actual.tag, where)) bindings.settle(placeholder)
    return []
  }
  const labelled = node.type === 'TextString' ? { ...node, value: bindings.relabelled(node.value) } : node
  if (isSame(labelled, actual) || choosesValue(actual.tag, where)) return []
  const differs = { path, sentence: `must be ${show(labelled)}, is ${show(actual)}` }
  if (node.type !== 'ByteString' || actual.type !== 'ByteString') return [differs]
  const standsFor = bindings.substituteOf(formatNode(node))
  if (standsFor !== undefined) return standsFor === text ? [] : [differs]
  if (!choosesBytes(actual.tag, where)) return [differs]
  if (!sameSize(node.value, actual.value, actual.tag, where)) return [differs]
  bindings.substitute(formatNode(node), text)
  return []
}

/** Times that no request contains, which cases of 1.0 to 1.2 print from their original run, mean the current time. */
function shiftOfPrinted(node: TtlvNode, bindings: Bindings): number | undefined {
  return node.type === 'DateTime' && !bindings.asked(node.value) ? 0 : undefined
}

/** Values that the server chooses have the printed size, unless an encoding (DER) makes sizes vary. */
function sameSize(printed: Uint8Array, actual: Uint8Array, tag: number, { generated }: Where): boolean {
  if (tag === Tag.DigestValue) return [20, 28, 32, 48, 64].includes(actual.length)
  if (tag === Tag.KeyMaterial && generated && printed.length > 64) return actual.length > 64
  return printed.length === actual.length
}

function isSame(expected: TtlvNode, actual: TtlvNode): boolean {
  if (expected.value instanceof Uint8Array && actual.value instanceof Uint8Array)
    return Buffer.compare(expected.value, actual.value) === 0
  return expected.value === actual.value
}

function compareMembers(
  expected: Expected,
  actual: StructureNode,
  path: string,
  comparison: Comparison,
): readonly Difference[] {
  const { where } = comparison
  if (choosesInside(actual.tag) || isChosenAttribute(expected.node, actual)) return []
  const wanted = expected.children.filter(
    ({ node }) => !mayBeAbsent(node, where) || actual.value.some(({ tag }) => tag === node.tag),
  )
  const found = actual.value.filter(
    (node) => !mayBeAbsent(node, where) || wanted.some((other) => other.node.tag === node.tag),
  )
  return isUnordered(actual.tag, where)
    ? compareSet(wanted, found, path, comparison)
    : compareSequence(wanted, found, path, comparison)
}

function compareSequence(
  wanted: readonly Expected[],
  found: readonly TtlvNode[],
  path: string,
  comparison: Comparison,
): readonly Difference[] {
  const differences: Difference[] = []
  let next = 0
  for (const expected of wanted) {
    const { tag } = expected.node
    const place = `${path}/${tagText(tag, true)}`
    const at = found.findIndex((node, index) => index >= next && node.tag === tag)
    if (at < 0) {
      const earlier = found.some((node) => node.tag === tag)
      const sentence = earlier ? 'is in another place' : `is missing (must be ${showExpected(expected)})`
      differences.push({ path: place, sentence })
      continue
    }
    for (const extra of found.slice(next, at)) differences.push(describeUnexpected(path, extra))
    const actual = found[at]
    if (actual !== undefined) differences.push(...compareNode(expected, actual, place, comparison))
    next = at + 1
  }
  for (const extra of found.slice(next)) differences.push(describeUnexpected(path, extra))
  return differences
}

function compareSet(
  wanted: readonly Expected[],
  found: readonly TtlvNode[],
  path: string,
  comparison: Comparison,
): readonly Difference[] {
  const { where } = comparison
  const differences: Difference[] = []
  const left = new Set(found)
  const unmatched: Expected[] = []
  // Members with literal values come first, so that a placeholder gets the remaining one.
  for (const expected of wanted.toSorted((one, other) => placeholdersIn(one) - placeholdersIn(other))) {
    const match = [...left].find((node) => matches(expected, node, comparison))
    if (match === undefined) unmatched.push(expected)
    else left.delete(match)
  }
  for (const expected of unmatched) {
    const { tag } = expected.node
    const place = `${path}/${tagText(tag, true)}${nameIn(expected.node)}`
    const nearest = [...left].find((node) => node.tag === tag && nameIn(node) === nameIn(expected.node))
    if (nearest !== undefined && !isListed(tag)) {
      left.delete(nearest)
      differences.push(...compareNode(expected, nearest, place, comparison))
    } else if (!mayBeMissing(expected.node, where)) {
      differences.push({ path: place, sentence: `is missing (must be ${showExpected(expected)})` })
    }
  }
  if (!mayBeAdded(where)) for (const extra of left) differences.push(describeUnexpected(path, extra))
  return differences
}

const listed: ReadonlySet<number> = new Set([
  Tag.Operation,
  Tag.ObjectType,
  Tag.AttributeReference,
  Tag.AttributeName,
])

/** Items of a list are one value each: a missing one is missing, not another one that differs. */
function isListed(tag: number): boolean {
  return listed.has(tag)
}

function matches(expected: Expected, actual: TtlvNode, comparison: Comparison): boolean {
  if (expected.node.tag !== actual.tag || nameIn(expected.node) !== nameIn(actual)) return false
  const bindings = comparison.bindings.trial()
  if (compareNode(expected, actual, '', { ...comparison, bindings }).length > 0) return false
  comparison.bindings.adopt(bindings)
  return true
}

function isChosenAttribute(expected: TtlvNode, actual: StructureNode): boolean {
  return (
    actual.tag === Tag.Attribute &&
    choosesAttribute(plainNameIn(actual)) &&
    nameIn(expected) === nameIn(actual)
  )
}

/** The name of a 1.x or vendor attribute in brackets, so that attributes are compared with their own kind. */
function nameIn(node: TtlvNode): string {
  const name = plainNameIn(node)
  return name === '' ? '' : `[${name}]`
}

function plainNameIn(node: TtlvNode): string {
  if (node.type !== 'Structure') return ''
  return String(node.value.find(({ tag }) => tag === Tag.AttributeName)?.value ?? '')
}

function placeholdersIn(expected: Expected): number {
  const own = parsePlaceholder(expected.printed) === undefined ? 0 : 1
  return expected.children.reduce((sum, child) => sum + placeholdersIn(child), own)
}

function showExpected({ node, printed }: Expected): string {
  return printed?.startsWith('$') === true ? printed : show(node)
}

function describeUnexpected(path: string, node: TtlvNode): Difference {
  return {
    path: `${path}/${tagText(node.tag, true)}${nameIn(node)}`,
    sentence: `is not expected (is ${show(node)})`,
  }
}
