import { requireRule } from '@warder/keys'
import { bigInteger, Tag, type TtlvNode, type ValueName } from '@warder/kmip-codec'
import { type Edited, instancesCalled, setAttribute } from '../../attributes/attribute-edit.ts'
import { type AttributeName, formatName, readReferredName } from '../../attributes/attribute-name.ts'
import { toVendorMember, withVendorValue } from '../../attributes/attribute-vendor.ts'
import type { AttributeState } from '../../attributes/attribute-view.ts'
import { defineOperation, namedObject, objectReply, objectRight } from '../../engine/operation.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { attributeState, stageEdit } from './attribute-request.ts'

/** KMIP 2.1 §6.1.3: increments, decrements or negates a value that the client need not know. */
export const adjustAttribute = defineOperation({
  name: 'AdjustAttribute',
  reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  access: objectRight('modifyattribute'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    attributeReference: required(field.reference(Tag.AttributeReference)),
    adjustmentType: required(field.named('AdjustmentType')),
    adjustmentValue: field.node(Tag.AdjustmentValue, 'that of the attribute'),
  }),
  reply: objectReply,
  async handle({ attributeReference, adjustmentType, adjustmentValue }, context) {
    const name = readReferredName(attributeReference, context.version)
    if (name === undefined) throw kmipFailure('UnsupportedAttribute', 'There is no attribute of this name.')
    const before = await attributeState(context, name.tag === Tag.Attribute)
    await stageEdit(context, before, adjustValue(before, name, adjustmentType, adjustmentValue, context.now))
    return { uniqueIdentifier: context.object.id }
  },
})

export type Adjustment = ValueName<'AdjustmentType'>

/**
 * AdjustAttribute (KMIP 2.1 §6.1.3): increments or decrements the value of a single attribute (by 1 unless the request
 * says otherwise), or negates a number or a Boolean.
 * @param by Integer, LongInteger, BigInteger or Interval; undefined = 1
 * @throws kmipFailure ReadOnlyAttribute, AttributeNotFound, MultiValuedAttribute, InvalidDataType, NumericRange; and as
 *   `setAttribute`
 */
export function adjustValue(
  state: AttributeState,
  name: AttributeName,
  adjustment: Adjustment,
  by: TtlvNode | undefined,
  now: number,
): Edited {
  const rule = requireRule(name.tag)
  if (rule.readOnly || !rule.modifiable) throw kmipFailure('ReadOnlyAttribute', 'DENIED')
  const [only, ...others] = instancesCalled(state, name, now)
  if (only === undefined) throw kmipFailure('AttributeNotFound', `The object has no ${formatName(name)}.`)
  if (others.length > 0)
    throw kmipFailure('MultiValuedAttribute', `There are several instances of ${formatName(name)}.`)
  const value = name.vendor === undefined ? only : toVendorMember(only)
  const adjusted = adjustNode(value, adjustment, by)
  return setAttribute(state, name.vendor === undefined ? adjusted : withVendorValue(only, adjusted), now)
}

function adjustNode(node: TtlvNode, adjustment: Adjustment, by: TtlvNode | undefined): TtlvNode {
  if (adjustment === 'Negate') {
    if (by !== undefined) throw kmipFailure('InvalidField', 'Negate takes no AdjustmentValue.')
    if (node.type === 'Boolean') return { ...node, value: !node.value }
    return withNumber(node, -readNumber(node))
  }
  const step = by === undefined ? 1n : readNumber(by)
  return withNumber(node, readNumber(node) + (adjustment === 'Increment' ? step : -step))
}

/** @throws kmipFailure InvalidDataType */
function readNumber(node: TtlvNode): bigint {
  switch (node.type) {
    case 'Integer':
    case 'Interval':
    case 'DateTime':
      return BigInt(node.value)
    case 'LongInteger':
    case 'DateTimeExtended':
      return node.value
    case 'BigInteger': {
      const bytes = node.value.length > maxNumberBytes ? undefined : Buffer.from(node.value).toString('hex')
      if (bytes === undefined) throw kmipFailure('NumericRange', 'The number is too large to be adjusted.')
      return BigInt.asIntN(node.value.length * 8, BigInt(`0x${bytes}`))
    }
    default:
      throw kmipFailure('InvalidDataType', `A value of type ${node.type} cannot be adjusted.`)
  }
}

const maxNumberBytes = 1024
const latestDate = 8_640_000_000_000n

/** The same node with another number. @throws kmipFailure NumericRange */
function withNumber(node: TtlvNode, value: bigint): TtlvNode {
  switch (node.type) {
    case 'Integer':
      return { ...node, value: Number(within(value, -0x80000000n, 0x7fffffffn)) }
    case 'Interval':
      return { ...node, value: Number(within(value, 0n, 0xffffffffn)) }
    case 'DateTime':
      return { ...node, value: Number(within(value, -latestDate, latestDate)) }
    case 'LongInteger':
    case 'DateTimeExtended':
      return { ...node, value: within(value, -(1n << 63n), (1n << 63n) - 1n) }
    case 'BigInteger':
      return bigInteger(node.tag, toBytes(value))
    default:
      throw kmipFailure('InvalidDataType', `A value of type ${node.type} cannot be adjusted.`)
  }
}

function within(value: bigint, min: bigint, max: bigint): bigint {
  if (value < min || value > max)
    throw kmipFailure('NumericRange', 'The adjusted value does not fit its type.')
  return value
}

/** Big-endian two's complement. */
function toBytes(value: bigint): Uint8Array {
  const length = (value < 0n ? -value : value).toString(16).length / 2 + 1
  const digits = BigInt.asUintN(Math.ceil(length) * 8, value).toString(16)
  return Buffer.from(digits.padStart(Math.ceil(length) * 2, '0'), 'hex')
}
