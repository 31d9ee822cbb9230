import assert from 'node:assert/strict'
import { createHmac, createPublicKey, sign, X509Certificate } from 'node:crypto'
import { describe, it } from 'node:test'
import { publicPem, type SignOptions, sharedKey, signElement } from '../testing/test-idp.ts'
import { assertRefused, splitParts, startValidator } from '../testing/validator.ts'
import { namespaces } from '../xml.ts'

const validator = await startValidator()
const right = validator.response()
const more = 'http://www.w3.org/2001/04/xmldsig-more#'
const enveloped = `${namespaces.signature}enveloped-signature`
const c14n = namespaces.exclusiveC14n

/** Returns a response whose assertion the identity provider itself signed in this way. */
function signedAs(signing: Partial<SignOptions>): string {
  return validator.response({ signing })
}

it('every allowed algorithm is accepted with a key of its type', async () => {
  const ec = await sharedKey('idp-ec', 'ec')
  const idpCertificates = [validator.idp.key.certificate, ec.certificate]
  for (const [size, digestAlgorithm] of [
    [256, `${namespaces.encryption}sha256`],
    [384, `${more}sha384`],
    [512, `${namespaces.encryption}sha512`],
  ] as const) {
    for (const [type, key] of [
      ['rsa', validator.idp.key],
      ['ecdsa', ec],
    ] as const) {
      const signatureAlgorithm = `${more}${type}-sha${size}`
      const xml = signedAs({ key, signatureAlgorithm, digestAlgorithm })
      assert.equal(typeof validator.validate(xml, { idpCertificates }), 'object', signatureAlgorithm)
      const changed = xml.replace('>ann<', '>eve<')
      assert.match(String(validator.validate(changed, { idpCertificates })), /signature is invalid/)
    }
  }
})

describe('signatures that SAML does not allow', () => {
  it('a Reference to another element, to the document, by XPointer or to elsewhere', () => {
    const id = /URI="#([^"]+)"/.exec(right)?.[1] ?? ''
    for (const uri of [
      '',
      '#',
      '#_other',
      `#xpointer(id('${id}'))`,
      '#xpointer(/)',
      id,
      'https://evil.example/',
      `#${id}'`,
    ]) {
      assertRefused(validator, right.replace(`URI="#${id}"`, `URI="${uri}"`), /Reference/, uri)
    }
    assertRefused(validator, right.replace(` URI="#${id}"`, ''), /Reference/, 'no URI')
  })

  it('two References, both valid', () => {
    const xml = signElement(validator.idp.unsigned(validator.wishes), 'Assertion', {
      key: validator.idp.key,
      alsoSign: "//*[local-name(.)='Status']",
    })
    assertRefused(validator, xml, /one Reference/, 'two References')
  })

  it('two SignedInfo (CVE-2025-29774)', () => {
    const info = /<ds:SignedInfo>[\s\S]*<\/ds:SignedInfo>/.exec(right)?.[0] ?? ''
    const forgedInfo = info.replace(/(<ds:DigestValue>)[^<]+/, '$1AAAA')
    for (const both of [forgedInfo + info, info + forgedInfo, info + info])
      assertRefused(validator, right.replace(info, both), /Signature has/, 'two SignedInfo')
  })

  it('a comment in DigestValue or SignatureValue (CVE-2025-29775)', () => {
    for (const name of ['DigestValue', 'SignatureValue']) {
      for (const comment of ['<!--AAAA-->', '<![CDATA[AAAA]]>', '<?x y?>', '<x/>', '&#65;<ds:x/>']) {
        for (const xml of [
          right.replace(`<ds:${name}>`, `<ds:${name}>${comment}`),
          right.replace(`</ds:${name}>`, `${comment}</ds:${name}>`),
        ])
          assertRefused(
            validator,
            xml,
            /comment|CDATA|processing|not base64|prefix|signature is invalid|children that SAML does not allow/,
            `${name} ${comment}`,
          )
      }
    }
  })

  it('transforms by XPath, XSLT or base64, none, one too many, or in another order', () => {
    const list = /<ds:Transforms>[\s\S]*<\/ds:Transforms>/.exec(right)?.[0] ?? ''
    const transform = (algorithm: string, inside = ''): string =>
      `<ds:Transform Algorithm="${algorithm}">${inside}</ds:Transform>`
    const xslt = '<x:stylesheet xmlns:x="http://www.w3.org/1999/XSL/Transform" version="1.0"/>'
    for (const [what, inside] of [
      [
        'XPath',
        transform('http://www.w3.org/TR/1999/REC-xpath-19991116', '<ds:XPath>self::text()</ds:XPath>'),
      ],
      ['XPath filter', transform('http://www.w3.org/2002/06/xmldsig-filter2')],
      ['XSLT', transform('http://www.w3.org/TR/1999/REC-xslt-19991116', xslt)],
      ['base64', transform(`${namespaces.signature}base64`)],
      ['none', ''],
      [
        'XPath after',
        transform(enveloped) + transform(c14n) + transform('http://www.w3.org/TR/1999/REC-xpath-19991116'),
      ],
      ['order', transform(c14n) + transform(enveloped)],
      ['enveloped twice', transform(enveloped) + transform(enveloped)],
      ['child', transform(enveloped, xslt) + transform(c14n)],
      ['child of c14n', transform(enveloped) + transform(c14n, xslt)],
    ] as const)
      assertRefused(
        validator,
        right.replace(list, `<ds:Transforms>${inside}</ds:Transforms>`),
        /transform|canonicalization/,
        what,
      )
    assertRefused(validator, right.replace(list, ''), /children that SAML does not allow/, 'no Transforms')
  })

  it('canonicalization that is inclusive or keeps comments, though the identity provider signed with it', () => {
    for (const name of ['http://www.w3.org/TR/2001/REC-xml-c14n-20010315', `${c14n}WithComments`]) {
      assertRefused(validator, signedAs({ canonicalization: name }), /canonicalization is not allowed/, name)
      assertRefused(
        validator,
        signedAs({ transforms: [enveloped, name] }),
        /canonicalization is not allowed/,
        name,
      )
    }
    assertRefused(validator, signedAs({ transforms: [enveloped] }), /transforms are not allowed/, 'none')
  })

  it('SHA-1, MD5, MGF1 and unknown algorithms, though the identity provider signed with them', () => {
    const sha1 = { signatureAlgorithm: `${namespaces.signature}rsa-sha1` }
    assertRefused(validator, signedAs(sha1), /signature algorithm is not allowed/, 'rsa-sha1')
    const digest = { digestAlgorithm: `${namespaces.signature}sha1` }
    assertRefused(validator, signedAs(digest), /digest algorithm is not allowed/, 'sha1')
    for (const name of [
      `${more}rsa-md5`,
      'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
      'constructor',
      '__proto__',
      '',
    ])
      assertRefused(
        validator,
        right.replace(`${more}rsa-sha256`, name),
        /signature algorithm is not allowed/,
        name,
      )
  })

  it('HMAC with the public key of the identity provider as its secret (key confusion)', () => {
    const { certificate } = validator.idp.key
    const secrets = [
      certificate,
      publicPem(certificate),
      new X509Certificate(certificate).raw,
      createPublicKey(certificate).export({ format: 'der', type: 'spki' }),
      Buffer.alloc(0),
    ]
    for (const secret of secrets) {
      for (const [name, hash] of [
        [`${more}hmac-sha256`, 'sha256'],
        [`${namespaces.signature}hmac-sha1`, 'sha1'],
        [`${more}rsa-sha256`, 'sha256'],
      ] as const) {
        const signatureOf = (data: string): string => createHmac(hash, secret).update(data).digest('base64')
        assertRefused(validator, signedAs({ signatureAlgorithm: name, signatureOf }), /signature/, name)
      }
    }
  })

  it('a key of another type than the algorithm', async () => {
    const ec = await sharedKey('idp-ec', 'ec')
    assertRefused(
      validator,
      signedAs({ key: ec, signatureAlgorithm: `${more}ecdsa-sha256` }),
      /signature is invalid/,
      'EC',
    )
    // The signatures of these keys are valid by their own algorithm: only the declared algorithm is wrong.
    const { privateKey } = validator.idp.key
    const byRsa = (data: string): string => sign('sha256', Buffer.from(data), privateKey).toString('base64')
    const byEc = (data: string): string =>
      sign('sha256', Buffer.from(data), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64')
    assertRefused(
      validator,
      signedAs({ signatureAlgorithm: `${more}ecdsa-sha256`, signatureOf: byRsa }),
      /signature is invalid/,
      'RSA as ECDSA',
    )
    const ofEc = { idpCertificates: [ec.certificate] }
    assert.match(
      String(
        validator.validate(signedAs({ signatureAlgorithm: `${more}rsa-sha256`, signatureOf: byEc }), ofEc),
      ),
      /signature is invalid/,
      'ECDSA as RSA',
    )
    assert.equal(
      typeof validator.validate(signedAs({ key: ec, signatureAlgorithm: `${more}ecdsa-sha256` }), ofEc),
      'object',
    )
  })

  it('an untrusted key whose certificate is in KeyInfo', async () => {
    const stranger = await sharedKey('stranger')
    const xml = signedAs({ key: stranger })
    const der = new X509Certificate(stranger.certificate).raw.toString('base64')
    const info = `<ds:KeyInfo><ds:X509Data><ds:X509Certificate>${der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>`
    const { signature } = splitParts(xml)
    const shown = signature
      .replace(/<ds:KeyInfo>[\s\S]*<\/ds:KeyInfo>/, '')
      .replace('</ds:Signature>', `${info}</ds:Signature>`)
    assertRefused(validator, xml.replace(signature, shown), /signature is invalid/, 'KeyInfo')
    // The content of KeyInfo does not affect a valid signature either.
    const honest = right
      .replace(/<ds:KeyInfo>[\s\S]*<\/ds:KeyInfo>/, '')
      .replace('</ds:Signature>', `${info}</ds:Signature>`)
    assert.equal(typeof validator.validate(honest), 'object')
  })

  it('parts that KeyInfo repeats are read only in their proper position', () => {
    const parts = [
      `<ds:SignedInfo/><ds:SignatureValue>AAAA</ds:SignatureValue>`,
      `<ds:CanonicalizationMethod Algorithm="${c14n}WithComments"/>`,
      `<ds:SignatureMethod Algorithm="${namespaces.signature}hmac-sha1"/>`,
    ]
    const xml = right.replace(
      /<ds:KeyInfo>[\s\S]*<\/ds:KeyInfo>/,
      `<ds:KeyInfo>${parts.join('')}</ds:KeyInfo>`,
    )
    assert.notEqual(xml, right)
    assert.equal(typeof validator.validate(xml), 'object')
    assertRefused(validator, xml.replace('>ann<', '>eve<'), /signature is invalid/, 'changed')
  })

  it('an empty, a short, a foreign or a missing SignatureValue; an Object; an empty SignedInfo', () => {
    const value = /<ds:SignatureValue>[^<]*<\/ds:SignatureValue>/.exec(right)?.[0] ?? ''
    for (const inside of ['', ' ', 'AAAA', '%%%%'])
      assertRefused(
        validator,
        right.replace(value, `<ds:SignatureValue>${inside}</ds:SignatureValue>`),
        /base64|signature is invalid/,
        inside,
      )
    assertRefused(validator, right.replace(value, ''), /Signature has/, 'none')
    const other = /<ds:SignatureValue>[^<]*<\/ds:SignatureValue>/.exec(validator.response())?.[0] ?? ''
    assertRefused(validator, right.replace(value, other), /signature is invalid/, 'of another response')
    assertRefused(
      validator,
      right.replace('</ds:Signature>', '<ds:Object/></ds:Signature>'),
      /child/,
      'Object',
    )
    assertRefused(
      validator,
      right.replace(/<ds:SignedInfo>[\s\S]*<\/ds:SignedInfo>/, '<ds:SignedInfo/>'),
      /Reference/,
      'empty',
    )
  })

  it('a digest of nothing, where canonicalization of others fails (void signature)', () => {
    const nothing = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    const xml = right
      .replace(/(<ds:DigestValue>)[^<]+/, `$1${nothing}`)
      .replace('<samlp:Response ', '<samlp:Response xmlns:void="1" ')
    assertRefused(validator, xml, /signature is invalid/, 'void')
  })
})
