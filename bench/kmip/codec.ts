/**
 * How fast one core reads and writes KMIP messages of 1 KiB: `node bench/kmip/codec.ts [seconds]`.
 * Two messages: `data` is an Encrypt request that is mostly one ByteString, `attributes` a Register request of 1 KiB
 * of small items (the dearest per byte). `message` is the whole way of a server: bytes to RequestMessage, and an
 * Encrypt reply to bytes. Megabytes count the bytes of the encoding itself.
 */
import {
  byteString,
  dateTime,
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeResponse,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'

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
  byteString(Tag.Data, new Uint8Array(800).fill(0x5a)),
  byteString(Tag.IVCounterNonce, new Uint8Array(12).fill(7)),
])
const attributes = message(3, [
  enumeration(Tag.ObjectType, 2),
  structure(Tag.Attributes, [
    enumeration(Tag.CryptographicAlgorithm, 3),
    integer(Tag.CryptographicLength, 256),
    integer(Tag.CryptographicUsageMask, 12),
    dateTime(Tag.ActivationDate, 1_700_000_000),
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((index) =>
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

function report(what: string, bytes: number, act: () => unknown): void {
  const { megabytes, messages } = rate(bytes, act)
  process.stdout.write(
    `kmip ${what.padEnd(26)} ${String(bytes).padStart(5)} bytes ${megabytes.toFixed(0).padStart(5)} MB/s ${Math.round(messages).toString().padStart(8)} messages/s\n`,
  )
}

for (const encoding of ['ttlv', 'json', 'xml'] as const) {
  for (const [name, tree] of [
    ['data', data],
    ['attributes', attributes],
  ] as const) {
    const bytes = encodeNode(tree, encoding)
    report(`${encoding} decode ${name}`, bytes.length, () => decodeNode(bytes, encoding))
    report(`${encoding} encode ${name}`, bytes.length, () => encodeNode(tree, encoding))
  }
  const bytes = encodeNode(data, encoding)
  report(`${encoding} decode message`, bytes.length, () => decodeRequest(bytes, encoding))
  const response = {
    version: '2.1',
    bare: false,
    timeStamp: 1_700_000_000,
    items: [
      {
        operation: 'Encrypt',
        status: 'Success',
        payload: [
          uniqueIdentifier,
          byteString(Tag.Data, new Uint8Array(800).fill(0x5a)),
          byteString(Tag.IVCounterNonce, new Uint8Array(12).fill(7)),
          byteString(Tag.AuthenticatedEncryptionTag, new Uint8Array(16).fill(9)),
        ],
      },
    ],
  } as const
  const size = encodeResponse(response, encoding).length
  report(`${encoding} encode message`, size, () => encodeResponse(response, encoding))
}
