import assert from 'node:assert/strict'
import { createHash, verify } from 'node:crypto'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readPublicKeys, verifyEnveloped } from '../signature.ts'
import { startValidator } from '../testing/validator.ts'
import { children, listElements, prefixesAt, readText, readXml, type XmlElement } from '../xml.ts'
import { XmlRefused } from '../xml-gate.ts'

const { ExclusiveCanonicalization } = createRequire(import.meta.url)('xml-crypto') as {
  ExclusiveCanonicalization: new () => { process(element: unknown, options: object): string }
}

const validator = await startValidator()
const keys = readPublicKeys(validator.expected.idpCertificates)
const attributes = { groups: ['a', 'b & c', 'ü'], mail: ['ann@example.org'] }

/** The signed canonical text as the product returns it; undefined: refused. */
function verified(xml: string): string | undefined {
  try {
    const document = readXml(xml)
    const [assertion] = children(document.root, 'assertion', 'Assertion')
    return verifyEnveloped(document, assertion ?? document.root, keys).text
  } catch (error) {
    if (error instanceof XmlRefused) return undefined
    throw error
  }
}

/**
 * An independent implementation of XML Signature §3.2: it locates the parts directly and uses a library only for
 * canonicalization.
 */
function secondOpinion(xml: string): string | undefined {
  const canonical = (element: XmlElement, inclusiveNamespacesPrefixList: readonly string[]): string => {
    const ancestorNamespaces = [...prefixesAt(element)].map(([prefix, namespaceURI]) => ({
      prefix,
      namespaceURI,
    }))
    return new ExclusiveCanonicalization().process(element, {
      inclusiveNamespacesPrefixList,
      ancestorNamespaces,
    })
  }
  const only = (from: XmlElement | undefined, name: string): XmlElement =>
    listElements(from ?? assert.fail(name)).find(({ localName }) => localName === name) ?? assert.fail(name)
  const base64Of = (from: XmlElement, name: string): Buffer =>
    Buffer.from(readText(only(from, name)) ?? '', 'base64')
  const assertion = only(readXml(xml).root, 'Assertion')
  const signature = only(assertion, 'Signature')
  const prefixes = listElements(only(signature, 'Transforms')).map(
    (one) => one.getAttribute('PrefixList') ?? '',
  )
  const info = Buffer.from(canonical(only(signature, 'SignedInfo'), []))
  const isSigned = keys.some((key) => verify('sha256', info, key, base64Of(signature, 'SignatureValue')))
  const digest = base64Of(signature, 'DigestValue')
  assertion.removeChild(signature)
  const text = canonical(assertion, prefixes.join(' ').split(' ').filter(Boolean))
  return isSigned && createHash('sha256').update(text).digest().equals(digest) ? text : undefined
}

describe('an independent verification of signatures', () => {
  it('agrees with the product on responses that an identity provider signs, byte for byte', () => {
    for (const inclusivePrefixes of [undefined, ['saml', 'xs'], ['samlp', 'saml', 'xs']]) {
      const signing = inclusivePrefixes === undefined ? {} : { signing: { inclusivePrefixes } }
      const xml = validator.response({ attributes, sign: ['Assertion'], ...signing })
      const text = verified(xml)
      assert.ok(text?.includes('ann@example.org'))
      assert.equal(secondOpinion(xml), text)
    }
  })

  it('agrees with the product on everything that is accepted after random changes', () => {
    const xml = validator.response({ attributes, sign: ['Assertion'] })
    let accepted = 0
    const change = fc.record({
      at: fc.nat(xml.length - 1),
      length: fc.constantFrom(0, 0, 0, 1, 2),
      text: fc.constantFrom('', ' ', '\n', 'x', '&#32;', "'", '"', '/', '<x/>', ' xmlns:y="urn:y"', ' a="b"'),
    })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = changes.reduce(
          (text, { at, length, text: put }) => text.slice(0, at) + put + text.slice(at + length),
          xml,
        )
        const own = verified(changed)
        if (own === undefined) return
        accepted += 1
        assert.equal(secondOpinion(changed), own)
      }),
      { numRuns: 600 },
    )
    assert.ok(accepted > 0, 'some changes are of what is not signed')
  })
})
