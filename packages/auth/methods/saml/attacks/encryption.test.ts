import assert from 'node:assert/strict'
import { constants } from 'node:crypto'
import { describe, it } from 'node:test'
import { type EncryptOptions, encryptAssertion } from '../testing/encrypt.ts'
import { sharedKey, signElement } from '../testing/test-idp.ts'
import { assertRefused, forgeText, splitParts, startValidator } from '../testing/validator.ts'
import { namespaces } from '../xml.ts'

const validator = await startValidator()
const { certificate } = await sharedKey('sp')
const signed = validator.response()
const { assertion } = splitParts(signed)

/** Returns a response with this text encrypted in place of its assertion. */
function withEncrypted(plain: string, options: Partial<EncryptOptions> = {}, around = signed): string {
  return around.replace(splitParts(around).assertion, encryptAssertion(plain, { certificate, ...options }))
}

const nameOf = (xml: string): unknown => {
  const result = validator.validate(xml)
  return typeof result === 'string' ? result : result.nameId?.value
}

describe('encrypted assertions', () => {
  it('are decrypted where they, or the response around them, are signed', () => {
    assert.equal(nameOf(withEncrypted(assertion)), 'ann')
    assert.equal(nameOf(withEncrypted(assertion, { oaepHash: 'sha256' })), 'ann')
    const unsigned = validator.response({ sign: [] })
    const plain = splitParts(
      unsigned.replace('<samlp:Status>', '<ds:Signature></ds:Signature><samlp:Status>'),
    ).assertion
    const outside = signElement(
      withEncrypted(
        plain,
        {},
        unsigned.replace('<samlp:Status>', '<ds:Signature></ds:Signature><samlp:Status>'),
      ).replace('<ds:Signature></ds:Signature>', ''),
      'Response',
      { key: validator.idp.key },
    )
    assert.equal(nameOf(outside), 'ann')
  })

  it('keep the prefixes that are declared around them', () => {
    const bare = assertion.replace(/ xmlns:saml="[^"]*"/, '')
    assert.equal(nameOf(withEncrypted(bare)), 'ann')
  })

  it('are refused without a signature: encryption needs no secret', () => {
    const unsigned = validator.idp.assertion(validator.wishes)
    assertRefused(validator, withEncrypted(unsigned), /must be signed/, 'unsigned')
    assertRefused(validator, withEncrypted(forgeText(assertion)), /signature/i, 'forged')
  })

  it('are refused with CBC, RSA 1.5, unknown algorithms or two digests', () => {
    const { encryption, encryption11 } = namespaces
    for (const name of ['aes128-cbc', 'aes256-cbc', 'tripledes-cbc'])
      assertRefused(validator, withEncrypted(assertion, { content: encryption + name }), /use AES-GCM/, name)
    assertRefused(
      validator,
      withEncrypted(assertion, { content: 'constructor' }),
      /use AES-GCM/,
      'constructor',
    )
    const rsa15 = { transport: `${encryption}rsa-1_5`, padding: constants.RSA_PKCS1_PADDING }
    assertRefused(validator, withEncrypted(assertion, rsa15), /use RSA-OAEP/, 'RSA 1.5')
    const mixed = `<ds:DigestMethod Algorithm="${encryption}sha256"/>`
    assertRefused(validator, withEncrypted(assertion, { method: mixed }), /same digest/, 'two digests')
    const mask = `<xenc11:MGF Algorithm="${encryption11}mgf1md5"/>`
    assertRefused(
      validator,
      withEncrypted(assertion, { method: mask }),
      /digest of RSA-OAEP/,
      'a mask by MD5',
    )
  })

  it('are refused with the same message for every cryptographic failure', async () => {
    const other = await sharedKey('stranger')
    const flip = (at: number) => (bytes: Buffer) => {
      const damaged = Buffer.from(bytes)
      damaged[at < 0 ? bytes.length + at : at] = (damaged.at(at) ?? 0) ^ 1
      return damaged
    }
    const sentences = [
      withEncrypted(assertion, { certificate: other.certificate }),
      withEncrypted(assertion, { damage: flip(0) }),
      withEncrypted(assertion, { damage: flip(20) }),
      withEncrypted(assertion, { damage: flip(-1) }),
      withEncrypted(assertion, { damage: (bytes) => bytes.subarray(0, 20) }),
      withEncrypted(assertion, { damage: () => Buffer.alloc(0) }),
      withEncrypted(assertion, { content: `${namespaces.encryption11}aes128-gcm` }),
      withEncrypted(assertion, { method: '<xenc:OAEPparams>AAAA</xenc:OAEPparams>' }),
    ].map(nameOf)
    assert.deepEqual(
      [...new Set(sentences)],
      ['encryption: rejected SAML response: the encrypted assertion cannot be decrypted'],
    )
  })

  it('are refused with two keys, with none, and with other content', () => {
    assertRefused(validator, withEncrypted(assertion, { keys: 2 }), /one EncryptedKey/, 'two keys')
    assertRefused(validator, withEncrypted(assertion, { keys: 0 }), /one EncryptedKey/, 'no key')
    const wrapper = '</warder:EncryptedAssertion>'
    for (const plain of [
      '',
      'ann',
      '<x/>',
      `<!DOCTYPE x>${assertion}`,
      `<!-- -->${assertion}`,
      `<?xml version="1.0"?>${assertion}`,
      assertion + assertion,
      assertion + forgeText(assertion),
      forgeText(assertion) + assertion,
      `<x>${assertion}</x>`,
      `${assertion}${wrapper}`,
      `${wrapper}<x>${assertion}</x>`,
      `${forgeText(assertion)}${wrapper}<warder:EncryptedAssertion xmlns:warder="${namespaces.assertion}">${assertion}`,
      encryptAssertion(assertion, { certificate }),
      signed,
      '\u0000',
    ])
      assertRefused(validator, withEncrypted(plain), /./, plain.slice(0, 60))
    const advised = assertion.replace(
      '</saml:Assertion>',
      `<saml:Advice>${forgeText(assertion)}</saml:Advice></saml:Assertion>`,
    )
    assertRefused(validator, withEncrypted(advised), /more than one assertion/, 'an assertion in Advice')
  })
})
