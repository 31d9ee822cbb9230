import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertRefused, forgeText, splitParts, startValidator, type Validator } from '../testing/validator.ts'
import { namespaces } from '../xml.ts'

const validator = await startValidator()

/** The two forged variants: with the ID of the signed element, and with another one. */
function eachForgery(attack: (forge: (text: string) => string) => string): readonly string[] {
  const sameId = (text: string): string => text.replace('>ann<', '>admin<')
  return [attack((text) => forgeText(text)), attack(sameId)]
}

function refusedEach(what: string, attack: (forge: (text: string) => string) => string): void {
  for (const xml of eachForgery(attack)) assertRefused(validator, xml, /./, what)
}

const signedResponse = validator.response({ sign: ['Response'] })
const signedAssertion = validator.response()

describe('signature wrapping (A25)', () => {
  it('accepts the signed response itself', () => {
    for (const xml of [signedResponse, signedAssertion])
      assert.equal(typeof validator.validate(xml), 'object')
  })

  it('XSW1: a forged Response around the Signature that holds the signed one', () => {
    const { response, signature } = splitParts(signedResponse)
    const original = response.replace(signature, '')
    refusedEach('XSW1', (forge) =>
      forge(original).replace(
        '<samlp:Status>',
        `${signature.replace('</ds:Signature>', `${original}</ds:Signature>`)}<samlp:Status>`,
      ),
    )
  })

  it('XSW2: a forged Response with the signed one before the detached Signature', () => {
    const { response, signature } = splitParts(signedResponse)
    const original = response.replace(signature, '')
    refusedEach('XSW2', (forge) =>
      forge(original).replace('<samlp:Status>', `${original}${signature}<samlp:Status>`),
    )
  })

  it('XSW3: a forged Assertion before the signed one', () => {
    const { assertion, signature } = splitParts(signedAssertion)
    refusedEach('XSW3', (forge) =>
      signedAssertion.replace(assertion, `${forge(assertion.replace(signature, ''))}${assertion}`),
    )
  })

  it('XSW4: a forged Assertion around the signed one', () => {
    const { assertion, signature } = splitParts(signedAssertion)
    refusedEach('XSW4', (forge) =>
      signedAssertion.replace(
        assertion,
        forge(assertion.replace(signature, '')).replace('</saml:Assertion>', `${assertion}</saml:Assertion>`),
      ),
    )
  })

  it('XSW5: a forged Assertion that has the Signature, and the signed one at the end', () => {
    const { assertion, signature } = splitParts(signedAssertion)
    refusedEach('XSW5', (forge) =>
      signedAssertion.replace(assertion, `${forge(assertion)}${assertion.replace(signature, '')}`),
    )
  })

  it('XSW6: a forged Assertion whose Signature holds the signed one', () => {
    const { assertion, signature } = splitParts(signedAssertion)
    const holding = signature.replace('</ds:Signature>', `${assertion.replace(signature, '')}</ds:Signature>`)
    refusedEach('XSW6', (forge) =>
      signedAssertion.replace(assertion, forge(assertion.replace(signature, holding))),
    )
  })

  it('XSW7: a forged Assertion in Extensions', () => {
    const { assertion, signature } = splitParts(signedAssertion)
    refusedEach('XSW7', (forge) =>
      signedAssertion.replace(
        '<samlp:Status>',
        `<samlp:Extensions>${forge(assertion.replace(signature, ''))}</samlp:Extensions><samlp:Status>`,
      ),
    )
  })

  it('XSW8: a forged Assertion whose Signature has the signed one in an Object', () => {
    const { assertion, signature } = splitParts(signedAssertion)
    const object = `<ds:Object>${assertion.replace(signature, '')}</ds:Object></ds:Signature>`
    const holding = signature.replace('</ds:Signature>', object)
    refusedEach('XSW8', (forge) =>
      signedAssertion.replace(assertion, forge(assertion.replace(signature, holding))),
    )
  })

  it('duplicated and nested assertions, also where all of them are signed', () => {
    const { assertion } = splitParts(signedAssertion)
    const twice = signedAssertion.replace(assertion, assertion + assertion)
    assertRefused(validator, twice, /more than one assertion/, 'twice')
    const advice = assertion.replace(
      '<saml:AuthnStatement',
      `<saml:Advice>${forgeText(assertion)}</saml:Advice><saml:AuthnStatement`,
    )
    assertRefused(
      validator,
      signedAssertion.replace(assertion, advice),
      /more than one assertion/,
      'in Advice',
    )
    const foreign = '<x:Assertion xmlns:x="urn:x"/>'
    assertRefused(
      validator,
      signedAssertion.replace(assertion, foreign + assertion),
      /more than one assertion/,
      'a namesake',
    )
    const encrypted = `<saml:EncryptedAssertion xmlns:saml="${namespaces.assertion}"/>`
    assertRefused(
      validator,
      signedAssertion.replace(assertion, encrypted + assertion),
      /more than one assertion/,
      'encrypted',
    )
  })

  it('an ID that two elements have, however the attribute is written', () => {
    const { assertion } = splitParts(signedAssertion)
    const id = / ID="([^"]+)"/.exec(assertion)?.[1] ?? ''
    for (const name of ['ID', 'Id', 'id', 'xml:id', 'iD']) {
      const xml = signedAssertion.replace(
        '<samlp:Status>',
        `<samlp:Extensions ${name}="${id}"/><samlp:Status>`,
      )
      assertRefused(validator, xml, /ID is not unique/, name)
    }
  })

  it('any mixture of parts of signed responses is refused, or yields the signed content', () => {
    const other = splitParts(validator.response({ nameId: 'bob', attributes: { a: ['b'] } }))
    const pieces = [
      ...splitTags(signedAssertion),
      ...splitTags(signedResponse),
      ...Object.values(other),
      forgeText(other.assertion),
      other.assertion.replace(other.signature, '').replace('>bob<', '>admin<'),
    ]
    const base = splitTags(validator.response({ sign: ['Assertion', 'Response'] }))
    const change = fc.record({
      at: fc.nat({ max: base.length }),
      remove: fc.nat({ max: 3 }),
      piece: fc.option(fc.constantFrom(...pieces)),
    })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const parts = [...base]
        for (const { at, remove, piece } of changes)
          parts.splice(at, remove, ...(piece === null ? [] : [piece]))
        const result = validator.validate(parts.join(''))
        if (typeof result !== 'string') assert.ok(['ann', 'bob'].includes(result.nameId?.value ?? ''))
      }),
      { numRuns: 300 },
    )
  })
})

function splitTags(xml: string): readonly string[] {
  return xml.split(/(?=<)/)
}

describe('signatures of parts', () => {
  it('over the response, the assertion or both suffice; an unsigned response is refused', () => {
    const accept = (xml: string): boolean => typeof validator.validate(xml) === 'object'
    assert.ok(accept(validator.response({ sign: ['Response'] })))
    assert.ok(accept(validator.response({ sign: ['Assertion'] })))
    assert.ok(accept(validator.response({ sign: ['Assertion', 'Response'] })))
    assertRefused(validator, validator.response({ sign: [] }), /must be signed/, 'unsigned')
  })

  it('a response whose signature was stripped is refused', () => {
    for (const sign of [['Response'], ['Assertion']] as const) {
      const xml = validator.response({ sign })
      assertRefused(validator, xml.replace(splitParts(xml).signature, ''), /must be signed/, sign[0])
    }
  })

  it('without the outer signature, the inner one still covers the assertion', () => {
    const xml = validator.response({ sign: ['Assertion', 'Response'] })
    const outer = splitParts(xml).signature
    const stripped: ReturnType<Validator['validate']> = validator.validate(xml.replace(outer, ''))
    assert.equal(typeof stripped === 'object' && stripped.nameId?.value, 'ann')
  })

  it('changes after signing are refused: name, attribute, audience, time', () => {
    const xml = validator.response({ attributes: { groups: ['users'] } })
    for (const [from, to] of [
      ['>ann<', '>admin<'],
      ['>users<', '>admins<'],
      ['>https://sp.example<', '>https://sp2.example<'],
      ['SessionIndex="session-1"', 'SessionIndex="session-2"'],
      ['</saml:NameID>', '</saml:NameID><!-- -->'],
    ] as const) {
      assert.notEqual(xml.replace(from, to), xml)
      assertRefused(validator, xml.replace(from, to), /signature|comment/, to)
    }
  })

  it('a signature in another position is refused', () => {
    const xml = validator.response()
    const { signature, assertion } = splitParts(xml)
    const without = xml.replace(signature, '')
    for (const [what, moved] of [
      ['to the Response', without.replace('<samlp:Status>', `${signature}<samlp:Status>`)],
      ['to the Subject', without.replace('<saml:Subject>', `<saml:Subject>${signature}`)],
      ['to the Status', without.replace('<samlp:Status>', `<samlp:Status>${signature}`)],
      [
        'of another response',
        without.replace('<saml:Subject>', `${splitParts(validator.response()).signature}<saml:Subject>`),
      ],
      ['twice', xml.replace('<saml:Subject>', `${signature}<saml:Subject>`)],
      ['of the assertion alone', assertion],
    ] as const)
      assertRefused(validator, moved, /Signature|signature|Response/, what)
  })
})
