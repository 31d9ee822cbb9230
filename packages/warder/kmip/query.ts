import {
  Enumeration,
  encodeJson,
  enumeration,
  findMask,
  integer,
  maskValueNames,
  structure,
  Tag,
  type TtlvNode,
  tagName,
  tagText,
} from '@warder/kmip-codec'

/** Builds a message of KMIP 2.1 with DiscoverVersions and a Query for all functions. */
export function buildFullQuery(): TtlvNode {
  const functions = Object.values(Enumeration.QueryFunction)
  const version = structure(Tag.ProtocolVersion, [
    integer(Tag.ProtocolVersionMajor, 2),
    integer(Tag.ProtocolVersionMinor, 1),
  ])
  return structure(Tag.RequestMessage, [
    structure(Tag.RequestHeader, [version, integer(Tag.BatchCount, 2)]),
    structure(Tag.BatchItem, [
      enumeration(Tag.Operation, Enumeration.Operation.DiscoverVersions),
      structure(Tag.RequestPayload, []),
    ]),
    structure(Tag.BatchItem, [
      enumeration(Tag.Operation, Enumeration.Operation.Query),
      structure(
        Tag.RequestPayload,
        functions.map((value) => enumeration(Tag.QueryFunction, value)),
      ),
    ]),
  ])
}

/** Formats the response to `buildFullQuery`, one line for each kind of value. */
export function formatQueryAnswer(answer: TtlvNode): readonly string[] {
  const members = listPayloadItems(answer)
  const lines: string[] = []
  for (const [tag, nodes] of Map.groupBy(members, (node) => node.tag)) {
    const values = nodes.map(formatValue).filter((value) => value !== '')
    // A server without defaults returns an empty DefaultsInformation.
    if (values.length === 0) continue
    const name = labels[tag] ?? tagText(tag)
    if (nodes[0]?.type === 'Structure' && tag !== Tag.ProtocolVersion) {
      lines.push(`${name}:`, ...values.map((value) => `  ${value}`))
    } else lines.push(`${name}: ${values.join(', ')}`)
  }
  return lines
}

const labels: Readonly<Record<number, string>> = {
  [Tag.ProtocolVersion]: 'Versions',
  [Tag.Operation]: 'Operations',
  [Tag.ObjectType]: 'Object types',
  [Tag.VendorIdentification]: 'Vendor',
  [Tag.ServerInformation]: 'Server',
  [Tag.ProfileInformation]: 'Profiles',
  [Tag.CapabilityInformation]: 'Capabilities',
}

function listPayloadItems(answer: TtlvNode): readonly TtlvNode[] {
  return getChildren(answer)
    .filter(({ tag }) => tag === Tag.BatchItem)
    .flatMap(getChildren)
    .filter(({ tag }) => tag === Tag.ResponsePayload)
    .flatMap(getChildren)
}

function getChildren(node: TtlvNode): readonly TtlvNode[] {
  return node.type === 'Structure' ? node.value : []
}

function formatValue(node: TtlvNode): string {
  const mask = findMask(node.tag)
  const names = node.type === 'Integer' && mask !== undefined ? maskValueNames(mask, node.value) : undefined
  if (names !== undefined) return names.join(' | ')
  if (node.type !== 'Structure') return String((JSON.parse(encodeJson(node)) as { value: unknown }).value)
  const parts = node.value.map(
    (member) => `${tagName(member.tag) ?? tagText(member.tag)} ${formatValue(member)}`,
  )
  if (node.tag === Tag.ProtocolVersion) return node.value.map(({ value }) => String(value)).join('.')
  return parts.join(', ')
}
