import { Tag, type TtlvNode } from '@warder/kmip-codec'

/** A whole number below this one, pseudo-random. */
export type Next = (below: number) => number

/** A small generator of pseudo-random whole numbers (xorshift32): the same seed yields the same numbers. */
export function numbersFrom(seed: number): Next {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const texts = ['', 'x', 'x'.repeat(5000), '*', ' blank ', '\u{1f511}', '@latest']
const integers = [0, -1, 1, 7, 0x7fffffff, -0x80000000]
const dates = [0, -1, 4_102_444_800, 8_640_000_000_000, -8_640_000_000_000]

/**
 * A request that is damaged in one or two places of its payloads: members dropped, doubled, of another type, with
 * values at the ends of their range, or taken from `others`. It still is well-formed TTLV.
 */
export function damage(request: TtlvNode, others: readonly TtlvNode[], next: Next): TtlvNode {
  let changes = 1 + next(2)
  const size = countIn(request, false)
  const targets = new Set(Array.from({ length: changes }, () => next(Math.max(1, size))))
  let at = 0
  const walk = (node: TtlvNode, inside: boolean): readonly TtlvNode[] => {
    const isTarget = inside && targets.has(at++) && changes-- > 0
    const rebuilt: TtlvNode =
      node.type === 'Structure'
        ? {
            ...node,
            value: node.value.flatMap((member) => walk(member, inside || node.tag === Tag.RequestPayload)),
          }
        : node
    return isTarget ? changeNode(rebuilt, others, next) : [rebuilt]
  }
  return walk(request, false)[0] ?? request
}

function countIn(node: TtlvNode, inside: boolean): number {
  if (node.type !== 'Structure') return inside ? 1 : 0
  const within = inside || node.tag === Tag.RequestPayload
  return node.value.reduce((sum, member) => sum + countIn(member, within), inside ? 1 : 0)
}

function changeNode(node: TtlvNode, others: readonly TtlvNode[], next: Next): readonly TtlvNode[] {
  const { tag } = node
  switch (next(7)) {
    case 0:
      return []
    case 1:
      return [node, node]
    case 2:
      return [{ tag, type: 'Structure', value: [] }]
    case 3:
      return [{ tag, type: 'TextString', value: texts[next(texts.length)] ?? '' }]
    case 4:
      return [others[next(others.length)] ?? node, node]
    default:
      return [withOtherValue(node, next)]
  }
}

function withOtherValue(node: TtlvNode, next: Next): TtlvNode {
  const { tag, type } = node
  switch (type) {
    case 'Enumeration':
      return { tag, type, value: next(48) }
    case 'Integer':
      return { tag, type, value: integers[next(integers.length)] ?? 0 }
    case 'LongInteger':
      return { tag, type, value: [0n, -1n, 2n ** 63n - 1n][next(3)] ?? 0n }
    case 'Boolean':
      return { tag, type, value: !node.value }
    case 'TextString':
      return { tag, type, value: texts[next(texts.length)] ?? '' }
    case 'ByteString':
      return { tag, type, value: new Uint8Array(next(300)).fill(next(256)) }
    case 'BigInteger':
      return { tag, type, value: new Uint8Array(1 + next(300)).fill(next(256)) }
    case 'DateTime':
      return { tag, type, value: dates[next(dates.length)] ?? 0 }
    default:
      return { tag, type: 'Integer', value: next(1000) }
  }
}
