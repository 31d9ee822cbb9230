import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Tag } from '../tables/tags.gen.ts'
import { plain, xmlTree } from '../testing/arbitrary.ts'
import { type KmipDecodeCode, KmipDecodeError, KmipEncodeError } from '../ttlv/error.ts'
import { byteString, enumeration, integer, structure, textString } from '../ttlv/node.ts'
import { decodeXml } from './decode.ts'
import { encodeXml } from './encode.ts'
import { parseXml } from './parse.ts'

test('Every tree survives XML', () => {
  fc.assert(
    fc.property(xmlTree, (tree) => {
      assert.deepEqual(plain(decodeXml(encodeXml(tree))), plain(tree))
    }),
    { numRuns: 500 },
  )
})

test('XML output has one element a line, names, escapes, and masks as names', () => {
  const tree = structure(Tag.Attributes, [
    enumeration(Tag.CryptographicAlgorithm, 3),
    integer(Tag.CryptographicUsageMask, 12),
    integer(Tag.CryptographicUsageMask, 0x40000000),
    textString(Tag.Description, `<a> & "b"\n'c'`),
    byteString(Tag.Data, new Uint8Array([0xab])),
    integer(0x54abcd, 5),
    structure(Tag.Name, []),
  ])
  assert.equal(
    encodeXml(tree),
    `<Attributes>
  <CryptographicAlgorithm type="Enumeration" value="AES"/>
  <CryptographicUsageMask type="Integer" value="Encrypt Decrypt"/>
  <CryptographicUsageMask type="Integer" value="1073741824"/>
  <Description type="TextString" value="&lt;a&gt; &amp; &quot;b&quot;&#10;'c'"/>
  <Data type="ByteString" value="ab"/>
  <TTLV tag="0x54ABCD" type="Integer" value="5"/>
  <Name/>
</Attributes>
`,
  )
  assert.throws(() => encodeXml(textString(Tag.Description, 'bell \u0007')), KmipEncodeError)
})

const value = (element: string): unknown => decodeXml(element).value

test('Every form of a value that clients send is read', () => {
  assert.equal(value('<CryptographicUsageMask type="Integer" value="Encrypt Decrypt"/>'), 12)
  assert.equal(value('<CryptographicUsageMask type="Integer" value="Encrypt|Decrypt|0x10"/>'), 28)
  assert.equal(value('<CryptographicUsageMask type="Integer" value="0x0000000c"/>'), 12)
  assert.equal(value('<BatchCount type="Integer" value="-3"/>'), -3)
  assert.equal(value('<State type="Enumeration" value="0x00000002"/>'), 2)
  assert.equal(value('<UsageLimitsTotal type="LongInteger" value="16"/>'), 16n)
  assert.equal(value("<Description type='TextString' value='it&apos;s &#x263a; &#9786;'/>"), "it's ☺ ☺")
  assert.equal(value('<Description type="TextString" value="a\nb"/>'), 'a b')
  assert.equal(value('<ActivationDate type="DateTime" value="1970-01-01T00:00:06+00:00"/>'), 6)
  assert.equal(
    decodeXml('<TTLV tag="0x420094" name="x" type="TextString" value="u"/>').tag,
    Tag.UniqueIdentifier,
  )
  assert.equal(
    decodeXml(
      '\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<!-- a - b -->\n<Name xmlns="urn:k" xmlns:x="y" >\r\n</Name >\n<!---->',
    ).tag,
    Tag.Name,
  )
})

function refused(text: string, reason: KmipDecodeCode): void {
  assert.throws(
    () => decodeXml(text),
    (error) => error instanceof KmipDecodeError && error.code === reason,
    `${reason}: ${text.slice(0, 80)}`,
  )
}

test('Declarations, includes and entity expansion are refused', () => {
  refused('<!DOCTYPE Name [<!ENTITY a "b">]><Name/>', 'malformed_xml')
  refused('<!DOCTYPE Name SYSTEM "file:///etc/passwd"><Name/>', 'malformed_xml')
  refused('<Name><!DOCTYPE x></Name>', 'malformed_xml')
  refused('<Name><![CDATA[x]]></Name>', 'malformed_xml')
  refused('<?php x?><Name/>', 'malformed_xml')
  refused('<?xml-stylesheet href="x"?><Name/>', 'malformed_xml')
  refused('<?xml version="1.0" encoding="utf-16"?><Name/>', 'malformed_xml')
  refused('<Description type="TextString" value="&a;"/>', 'malformed_xml')
  refused('<Description type="TextString" value="&lt"/>', 'malformed_xml')
  refused('<Description type="TextString" value="&"/>', 'malformed_xml')
  refused('<Description type="TextString" value="&constructor;"/>', 'malformed_xml')
  refused('<Description type="TextString" value="&#0;"/>', 'malformed_xml')
  refused('<Description type="TextString" value="&#xD800;"/>', 'malformed_xml')
  refused('<Description type="TextString" value="&#x110000;"/>', 'malformed_xml')
  refused('<Description type="TextString" value="\u0001"/>', 'malformed_xml')
  refused('<Description type="TextString" value="<"/>', 'malformed_xml')
})

test('XML that is not well-formed is refused', () => {
  for (const text of [
    '',
    ' ',
    'text',
    '<',
    '<>',
    '</Name>',
    '<Name',
    '<Name>',
    '<Name></Names>',
    '<Name/><Name/>',
    '<Name/>text',
    '<Name>text</Name>',
    '<Name a></Name>',
    '<Name a=1/>',
    '<Name a="1"b="2"/>',
    '<Name a="1" a="2"/>',
    '<Name a="1/>',
    '<x:Name/>',
    '<1Name/>',
    '<Name><!-- a -- b --></Name>',
    '<Name><!-- a </Name>',
    `<Name ${Array.from({ length: 17 }, (_, index) => `a${index}="1"`).join(' ')}/>`,
  ])
    refused(text, 'malformed_xml')
})

test('Well-formed XML that is not KMIP is refused with a reason', () => {
  refused('<Nonsense/>', 'unknown_tag')
  refused('<TTLV type="Integer" value="1"/>', 'unknown_tag')
  refused('<BatchCount type="Number" value="1"/>', 'unknown_type')
  refused('<BatchCount type="Integer"/>', 'malformed_xml')
  refused('<BatchCount type="Integer" value="1"><Name/></BatchCount>', 'malformed_xml')
  refused('<Name value="1"/>', 'malformed_xml')
  refused('<BatchCount type="Integer" value="2147483648"/>', 'invalid_value')
  refused('<BatchCount type="Integer" value=""/>', 'invalid_value')
  refused('<Fresh type="Boolean" value="yes"/>', 'invalid_value')
  refused('<Modulus type="BigInteger" value=""/>', 'invalid_value')
  refused('<State type="Enumeration" value="Nonsense"/>', 'unknown_enumeration')
})

test('Nesting, number of elements and time are bounded', () => {
  const nested = (levels: number): string => `${'<Name>'.repeat(levels)}${'</Name>'.repeat(levels)}`
  assert.equal(parseXml(nested(64)).name, 'Name')
  refused(nested(65), 'too_deep')
  refused(nested(300_000), 'too_deep')
  refused(`<Attributes>${'<Name/>'.repeat(65_536)}</Attributes>`, 'too_many_items')
  refused(`<Name ${' '.repeat(2_000_000)}`, 'malformed_xml')
  refused(`<Name a="${'&'.repeat(500_000)}"/>`, 'malformed_xml')
  refused(`<${'N'.repeat(1_000_000)}/>`, 'malformed_xml')
  refused('<!--'.repeat(500_000), 'malformed_xml')
})
