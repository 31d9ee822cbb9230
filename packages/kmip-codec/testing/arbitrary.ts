import fc from 'fast-check'
import { Tag } from '../tables/tags.gen.ts'
import { maximumDateTime, shortest, type TtlvNode } from '../ttlv/node.ts'

/** Tags of the standard, now and then an extension. */
const tag = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...Object.values(Tag)) },
  { weight: 1, arbitrary: fc.integer({ min: 0x540000, max: 0x54ffff }) },
)

const uint32 = fc.oneof(fc.integer({ min: 0, max: 0x40 }), fc.integer({ min: 0, max: 0xffffffff }))
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const bytes = fc.uint8Array({ maxLength: 40 })

/** @param text the values of TextStrings: XML cannot carry all of Unicode */
function leaf(text: fc.Arbitrary<string>): fc.Arbitrary<TtlvNode> {
  return fc.oneof(
    fc.record({
      tag,
      type: fc.constant('Integer' as const),
      value: fc.integer({ min: -0x80000000, max: 0x7fffffff }),
    }),
    fc.record({ tag, type: fc.constant('LongInteger' as const), value: int64 }),
    fc.record({ tag, type: fc.constant('BigInteger' as const), value: bytes.map(shortest) }),
    fc.record({ tag, type: fc.constant('Enumeration' as const), value: uint32 }),
    fc.record({ tag, type: fc.constant('Boolean' as const), value: fc.boolean() }),
    fc.record({ tag, type: fc.constant('TextString' as const), value: text }),
    fc.record({ tag, type: fc.constant('ByteString' as const), value: bytes }),
    fc.record({
      tag,
      type: fc.constant('DateTime' as const),
      value: fc.oneof(
        fc.integer({ min: 0, max: 4_000_000_000 }),
        fc.integer({ min: -maximumDateTime, max: maximumDateTime }),
      ),
    }),
    fc.record({ tag, type: fc.constant('Interval' as const), value: uint32 }),
    fc.record({ tag, type: fc.constant('DateTimeExtended' as const), value: int64 }),
  )
}

function tree(text: fc.Arbitrary<string>): fc.Arbitrary<TtlvNode> {
  return fc.letrec<{ node: TtlvNode }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf(text),
      fc.record({
        tag,
        type: fc.constant('Structure' as const),
        value: fc.array(tie('node'), { maxLength: 6 }),
      }),
    ),
  })).node
}

/** Any tree that binary TTLV can carry. */
export const anyTree = tree(fc.string({ unit: 'binary', maxLength: 60 }))

/** Any tree whose texts XML can carry. */
export const xmlTree = tree(
  fc
    .string({ unit: 'binary', maxLength: 60 })
    .map((text) => text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')),
)

/** Comparable with deepEqual whatever views the bytes are. */
export function plain(node: TtlvNode): unknown {
  const { tag, type } = node
  if (node.type === 'Structure') return { tag, type, value: node.value.map(plain) }
  return { tag, type, value: node.value instanceof Uint8Array ? [...node.value] : node.value }
}
