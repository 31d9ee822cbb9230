/**
 * How fast one core reads and writes KMIP messages of 1 KiB: `node bench/kmip/codec.ts [seconds]`.
 * Two messages: `data` is an Encrypt request that is mostly one ByteString, `attributes` a Register request of 1 KiB
 * of small items (the dearest per byte).
 */
import { Tag } from '@warder/kmip/tables'
import {
  byteString,
  dateTime,
  decodeTtlv,
  encodeTtlv,
  enumeration,
  integer,
  structure,
  type TtlvNode,
  textString,
} from '@warder/kmip/ttlv'

const seconds = Number(process.argv[2] ?? 1)

function message(operation: number, payload: readonly TtlvNode[]): TtlvNode {
  return structure(Tag.RequestMessage, [
    structure(Tag.RequestHeader, [
      structure(Tag.ProtocolVersion, [
        integer(Tag.ProtocolVersionMajor, 2),
        integer(Tag.ProtocolVersionMinor, 1),
      ]),
      integer(Tag.BatchCount, 1),
    ]),
    structure(Tag.BatchItem, [enumeration(Tag.Operation, operation), structure(Tag.RequestPayload, payload)]),
  ])
}

const uniqueIdentifier = textString(Tag.UniqueIdentifier, '0192f0c1-7a5b-7cde-8f01-23456789abcd')
const data = message(0x1f, [
  uniqueIdentifier,
  structure(Tag.CryptographicParameters, [
    enumeration(Tag.BlockCipherMode, 9),
    enumeration(Tag.CryptographicAlgorithm, 3),
  ]),
  byteString(Tag.Data, new Uint8Array(736).fill(0x5a)),
  byteString(Tag.IVCounterNonce, new Uint8Array(12).fill(7)),
])
const attributes = message(3, [
  enumeration(Tag.ObjectType, 2),
  structure(Tag.Attributes, [
    enumeration(Tag.CryptographicAlgorithm, 3),
    integer(Tag.CryptographicLength, 256),
    integer(Tag.CryptographicUsageMask, 12),
    dateTime(Tag.ActivationDate, 1_700_000_000),
    ...[1, 2, 3, 4, 5, 6, 7].map((index) =>
      structure(Tag.Name, [
        textString(Tag.NameValue, `backup key number ${index} of the vault`),
        enumeration(Tag.NameType, 1),
      ]),
    ),
  ]),
  structure(Tag.SymmetricKey, [
    structure(Tag.KeyBlock, [
      enumeration(Tag.KeyFormatType, 1),
      structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, new Uint8Array(32).fill(1))]),
      enumeration(Tag.CryptographicAlgorithm, 3),
      integer(Tag.CryptographicLength, 256),
    ]),
  ]),
])

/** Megabytes (10^6 bytes) a second of one core, the best of five rounds after one to warm up. */
function rate(bytes: number, act: () => unknown): { readonly megabytes: number; readonly messages: number } {
  let best = 0
  for (let round = 0; round < 6; round++) {
    const until = performance.now() + (seconds * 1000) / 6
    const start = performance.now()
    let count = 0
    while (performance.now() < until) for (let batch = 0; batch < 500; batch++, count++) act()
    const perSecond = (count * 1000) / (performance.now() - start)
    if (round > 0) best = Math.max(best, perSecond)
  }
  return { megabytes: (best * bytes) / 1e6, messages: best }
}

for (const [name, tree] of [
  ['data', data],
  ['attributes', attributes],
] as const) {
  const bytes = encodeTtlv(tree)
  for (const [what, act] of [
    ['decode', () => decodeTtlv(bytes)],
    ['encode', () => encodeTtlv(tree)],
  ] as const) {
    const { megabytes, messages } = rate(bytes.length, act)
    process.stdout.write(
      `kmip ${what} ${name} (${bytes.length} bytes): ${megabytes.toFixed(0)} MB/s, ${Math.round(messages)} messages/s\n`,
    )
  }
}
