import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { decodeNode, encodeNode } from '@warder/kmip-codec'
import fc from 'fast-check'
import { explain } from './explain.ts'
import { parseHexDump } from './input.ts'

const xml = `<RequestMessage><RequestHeader><ProtocolVersion><ProtocolVersionMajor type="Integer" value="1"/>
<ProtocolVersionMinor type="Integer" value="2"/></ProtocolVersion><BatchCount type="Integer" value="1"/></RequestHeader>
<BatchItem><Operation type="Enumeration" value="Register"/><RequestPayload><TemplateAttribute><Attribute>
<AttributeName type="TextString" value="Cryptographic Algorithm"/><AttributeValue type="Enumeration" value="AES"/></Attribute>
<Attribute><AttributeName type="TextString" value="Cryptographic Usage Mask"/><AttributeValue type="Integer" value="12"/></Attribute>
<Attribute><AttributeName type="TextString" value="Activation Date"/><AttributeValue type="DateTime" value="2026-01-02T03:04:05Z"/></Attribute>
</TemplateAttribute><SymmetricKey><KeyBlock><KeyFormatType type="Enumeration" value="Raw"/><KeyValue>
<KeyMaterial type="ByteString" value="00112233445566778899aabbccddeeff"/></KeyValue></KeyBlock></SymmetricKey></RequestPayload>
</BatchItem></RequestMessage>`
const message = Buffer.from(encodeNode(decodeNode(Buffer.from(xml.replaceAll('>\n<', '><')), 'xml'), 'ttlv'))
const plain = { showSecrets: false }
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

test('A message is told item by item, with offsets, names and meanings', () => {
  const { lines, problems } = explain(message, plain)
  assert.deepEqual(problems, [])
  const text = lines.join('\n')
  assert.match(text, /^ {4}0 {2}RequestMessage {2}\(\d+ bytes\)\n {4}8 {4}RequestHeader/)
  assert.match(text, / {6}ProtocolVersionMinor {2}Integer {2}2\n/)
  assert.match(text, /Operation {2}Enumeration {2}Register \(0x3\)/)
  assert.match(
    text,
    /AttributeName {2}TextString {2}"Cryptographic Algorithm"\n.*AttributeValue {2}Enumeration {2}AES \(0x3\)/,
  )
  assert.match(text, /AttributeValue {2}DateTime {2}2026-01-02T03:04:05Z/)
})

test('Key material is left out unless it is asked for', () => {
  assert.match(explain(message, plain).lines.join('\n'), /KeyMaterial {2}ByteString {2}16 bytes, secret/)
  assert.doesNotMatch(explain(message, plain).lines.join('\n'), /0011223344/)
  assert.match(explain(message, { showSecrets: true }).lines.join('\n'), /00112233445566778899aabbccddeeff/)
})

test('What is wrong is told with its place, and reading goes on', () => {
  const wrong: Readonly<Record<string, RegExp>> = {
    '420078 01 00000010 42006a 02 00000004': /at byte 4: the length is 16, but only 8 bytes are left/,
    '420078 01 00000008 42006a 02 00000004': /at byte 12: the length is 4, but only 0 bytes are left/,
    '42006a 02 00000004 00000001 00000001': /at byte 12: the padding is not zero/,
    '42006a 02 00000005 00000001 00000000': /at byte 4: Integer has length 5, not 4/,
    '4200ff 02 00000004 00000001 00000000': /^$/,
    '42ffff 02 00000004 00000001 00000000': /at byte 0: 0x42FFFF is not a tag of the standard/,
    '42006a 0c 00000004 00000001 00000000': /at byte 3: 12 is not a type/,
    '420078 01 00000004 00000000': /at byte 4: the length 4 of a structure is not a multiple of 8/,
    '420078 01': /at byte 0: only 4 bytes are left, but an item header has 8/,
    '420094 07 ffffffff 61626364': /the length is 4294967295, but only 4 bytes are left/,
  }
  for (const [bytes, sentence] of Object.entries(wrong))
    assert.match(explain(hex(bytes), plain).problems.join('\n'), sentence, bytes)
  const behind = explain(
    hex('42ffff 02 00000004 00000001 00000000 42006a 02 00000004 00000007 00000000'),
    plain,
  )
  assert.match(behind.lines[1] ?? '', /ProtocolVersionMajor {2}Integer {2}7/)
})

test('No bytes make it fail, and nothing makes it endless', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(message.length - 1), (bytes, at) => {
      const mutated = Buffer.from(message)
      mutated.set(bytes.subarray(0, message.length - at), at)
      for (const input of [Buffer.from(bytes), mutated]) {
        const { lines } = explain(input, plain)
        assert.ok(lines.length <= input.length / 8 + 1)
      }
    }),
  )
  const nested = Buffer.concat(
    Array.from({ length: 500 }, (_, depth) =>
      hex(`420078 01 ${((499 - depth) * 8).toString(16).padStart(8, '0')}`),
    ),
  )
  assert.match(explain(nested, plain).problems.join('\n'), /nested more than 64 deep/)
})

test('A dump is read as people copy it', () => {
  const bytes = message.subarray(0, 40)
  const digits = bytes.toString('hex')
  const pairs = digits.match(/../g) ?? []
  const rows = Array.from({ length: 3 }, (_, row) => pairs.slice(row * 16, row * 16 + 16))
  const dumps = [
    digits,
    digits.toUpperCase(),
    `0x${digits}`,
    pairs.join(' '),
    pairs.join(':'),
    pairs.map((pair) => `0x${pair}`).join(', '),
    rows.map((row) => row.join(' ')).join('\r\n'),
    rows
      .map((row, index) => `000000${index}0: ${(row.join('').match(/.{1,4}/g) ?? []).join(' ')}  B.x.....`)
      .join('\n'),
    [
      ...rows.map(
        (row, index) => `000000${index}0  ${row.slice(0, 8).join(' ')}  ${row.slice(8).join(' ')} |B.x.|`,
      ),
    ].join('\n'),
  ]
  for (const dump of dumps) assert.deepEqual(parseHexDump(dump), bytes, dump)
  for (const none of ['', 'x', '420', 'hello', '42 00 7g']) assert.equal(parseHexDump(none), undefined, none)
})
