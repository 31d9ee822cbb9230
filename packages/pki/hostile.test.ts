import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { before, test } from 'node:test'
import fc from 'fast-check'
import {
  contextTag,
  der,
  derElements,
  derIdentifier,
  derMembers,
  derOctets,
  derSequence,
  derTag,
} from './der.ts'
import { PkiError } from './error.ts'
import { bytePrivateFromRaw, privateFromPkcs8, publicFromSpki } from './keys/asymmetric.ts'
import { ecPrivateFromScalar, ecPrivateFromSec1, ecPublicFromPoint } from './keys/ec.ts'
import { finiteFieldFromNumbers } from './keys/finite-field.ts'
import { byteKeyFamilies, curveByName } from './keys/key-algorithms.ts'
import { parsePkcs8 } from './keys/pkcs8.ts'
import {
  rsaPrivateFromNumbers,
  rsaPrivateFromPkcs1,
  rsaPublicFromNumbers,
  rsaPublicFromPkcs1,
} from './keys/rsa.ts'
import { readPkcs12 } from './pkcs12/read.ts'
import { p256Request, pssRequest } from './testing/certificate-requests.ts'
import { legacyFile, modernFile } from './testing/pkcs12-files.ts'
import { parseCertificate, readCertificate } from './x509/certificate.ts'
import { issueCrl, readCrl, readIssuingDistributionPoint } from './x509/crl.ts'
import { nameFromParts, nameText, readNameParts } from './x509/distinguished-name.ts'
import {
  basicConstraints,
  extensionIdentifiers,
  keyUsage,
  readBasicConstraints,
  readCertificateExtensions,
  readExtendedKeyUsage,
  readExtensions,
  readKeyIdentifier,
  readKeyUsage,
} from './x509/extensions.ts'
import { constraintName, generalName, generalNameText, readNameConstraints } from './x509/general-name.ts'
import { issueCertificate } from './x509/issue.ts'
import { lintCertificate } from './x509/lint/lint.ts'
import { createCertId } from './x509/ocsp/cert-id.ts'
import { ocspRequest, ocspRequestFromPath, readOcspRequest } from './x509/ocsp/request.ts'
import { issueOcspResponse, ocspResponder, readOcspResponse } from './x509/ocsp/response.ts'
import { ocspVerdict } from './x509/ocsp/verdict.ts'
import { opensslExtensions } from './x509/openssl-extensions.ts'
import { validatePath } from './x509/path/validate.ts'
import {
  certificatePolicies,
  policyConstraints,
  policyMappings,
  readCertificatePolicies,
  readInhibitAnyPolicy,
  readPolicyConstraints,
  readPolicyMappings,
} from './x509/policies.ts'
import { keyCapability, profileExtensions } from './x509/profiles.ts'
import { readCertificationRequest } from './x509/request.ts'
import { readAuthorityInformationAccess, readCrlDistributionPoints } from './x509/revocation-access.ts'

const what = 'The value'
const policy = { fips: false }

/** Certificates with the bytes as the value of each known extension. */
function everyExtension(value: Uint8Array) {
  return Object.values(extensionIdentifiers).map((identifier) => ({ identifier, critical: false, value }))
}

/** Every function that reads untrusted bytes. */
const readers: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  derElements: (bytes) => derElements(bytes, what),
  derMembers: (bytes) => derMembers(bytes, what),
  derIdentifier: (bytes) => derIdentifier(derElements(bytes, what)[0], what),
  parsePkcs8,
  privateFromPkcs8: (bytes) => privateFromPkcs8(bytes, policy),
  publicFromSpki: (bytes) => publicFromSpki(bytes, policy),
  rsaPrivateFromPkcs1: (bytes) => rsaPrivateFromPkcs1(bytes, policy),
  rsaPublicFromPkcs1: (bytes) => rsaPublicFromPkcs1(bytes, policy),
  ecPrivateFromSec1: (bytes) => ecPrivateFromSec1(bytes, curveByName('prime256v1'), policy),
  readCertificate,
  extensions(bytes) {
    const extensions = readCertificateExtensions(bytes)
    return [readBasicConstraints(extensions), readKeyUsage(extensions), readKeyIdentifier(extensions)]
  },
  readExtensions(bytes) {
    const extensions = readExtensions(bytes, what)
    return [readBasicConstraints(extensions), readKeyUsage(extensions), readKeyIdentifier(extensions)]
  },
  ...Object.fromEntries(
    [
      readAuthorityInformationAccess,
      readCertificatePolicies,
      readCrlDistributionPoints,
      readExtendedKeyUsage,
      readInhibitAnyPolicy,
      readIssuingDistributionPoint,
      readNameConstraints,
      readPolicyConstraints,
      readPolicyMappings,
    ].map((read) => [read.name, (bytes: Uint8Array) => read(everyExtension(bytes))]),
  ),
  keyCapability,
  readCertificationRequest,
  nameText,
  readNameParts,
  generalNameText,
  readCrl(bytes) {
    const crl = readCrl(bytes)
    return [...crl.entries()].map(({ serial }) => crl.find(serial))
  },
  parseCertificate,
  readOcspRequest,
  ocspRequestFromPath: (bytes) => ocspRequestFromPath(Buffer.from(bytes).toString('latin1')),
  ocspResponse(bytes) {
    const response = readOcspResponse(bytes)
    return response.error ?? ocspVerdict(response, { certificate: authority, issuer: authority, at: 1e12 })
  },
  lintCertificate,
  validatePath(bytes) {
    const anchors = [authority.der]
    const result = validatePath({ certificate: bytes, anchors, others: [bytes, bytes], at: 1e12 })
    return [result, validatePath({ certificate: authority.der, anchors, others: [bytes], at: 1e12 })]
  },
}

function onlyPkiErrors(name: string, bytes: Uint8Array): void {
  try {
    readers[name]?.(bytes)
  } catch (error) {
    assert.ok(error instanceof PkiError, `${name}: ${String(error)}`)
  }
}
const all = (bytes: Uint8Array) => {
  for (const name of Object.keys(readers)) onlyPkiErrors(name, bytes)
}

/** The test damages its responses. */
let authority: ReturnType<typeof parseCertificate>

/** Valid structures of each kind, to be damaged. */
const whole: Buffer[] = [p256Request, pssRequest]
before(async () => {
  const pairs = [
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('rsa', { modulusLength: 1024 }),
    generateKeyPairSync('ed25519'),
    generateKeyPairSync('ml-dsa-44' as 'ed25519'),
    generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }),
    generateKeyPairSync('dh' as 'ed25519', { group: 'modp14' } as object),
  ]
  for (const { privateKey, publicKey } of pairs) {
    whole.push(privateKey.export({ format: 'der', type: 'pkcs8' }))
    whole.push(publicKey.export({ format: 'der', type: 'spki' }))
  }
  const [ec, rsa] = pairs
  assert.ok(ec && rsa)
  whole.push(ec.privateKey.export({ format: 'der', type: 'sec1' }))
  whole.push(rsa.privateKey.export({ format: 'der', type: 'pkcs1' }))
  const name = nameFromParts([
    ['C', 'CH'],
    ['CN', 'root'],
  ])
  const spki = ec.publicKey.export({ format: 'der', type: 'spki' })
  const extensions = [
    basicConstraints(true, 1),
    keyUsage(['keyCertSign']),
    ...opensslExtensions('subjectAltName=DNS:a.example,IP:::1\nextendedKeyUsage=serverAuth'),
  ]
  const wanted = { subject: name, spki, notBefore: 0, notAfter: 2e12, extensions }
  const issuer = { name, key: ec.privateKey, spki, keyIdentifier: undefined }
  const certificate = await issueCertificate(wanted, issuer)
  const url = 'http://a.example/'
  const rich = [
    ...profileExtensions('authority', {
      spki,
      permitted: [constraintName('DNS:a'), constraintName('IP:::/3')],
      crlUrls: [url],
      ocspUrls: [url],
    }),
    certificatePolicies(['1.2.3']),
    policyMappings([['1.2.3', '1.2.4']]),
    policyConstraints({ requireExplicit: 1 }),
  ]
  // The values, each of which is a separate structure.
  whole.push(...rich.map(({ value }) => Buffer.from(value)))
  authority = parseCertificate(certificate)
  whole.push(certificate)
  const entry = {
    serial: Uint8Array.of(1),
    revokedAt: 0,
    reason: 'keyCompromise',
    invalidityDate: 0,
  } as const
  const scope = { urls: ['http://a.example/'] }
  const list = { number: 3n, baseNumber: 2n, thisUpdate: 0, nextUpdate: 2e12, entries: [entry, entry], scope }
  whole.push(await issueCrl(list, issuer))
  const certId = createCertId('sha256', issuer, authority.serial)
  const status = { kind: 'revoked', revokedAt: 0, reason: 'superseded' } as const
  const answers = [{ certId, status, thisUpdate: 1e12, nextUpdate: 2e12 }]
  const response = { answers, producedAt: 1e12, nonce: Buffer.alloc(8) }
  whole.push(ocspRequest([certId, certId], Buffer.alloc(16)))
  whole.push(await issueOcspResponse(response, ocspResponder(issuer, [certificate])))
  whole.push(name)
})

test('property: arbitrary bytes are refused with a PkiError, by every reader', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), all), { numRuns: 500 })
})

const bytes = fc.uint8Array({ maxLength: 40 })
const { tree } = fc.letrec<{ tree: Buffer }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, depthSize: 'large' },
    fc
      .constantFrom(0, 1, 2, 3, 10, 48, 129, 256)
      .map((length) => der(derTag.integer, Buffer.alloc(length, 0x55))),
    fc
      .constantFrom(
        '2a8648ce3d0201',
        '2a8648ce3d030107',
        '2a864886f70d010101',
        '551d13',
        '551d0f',
        '551d11',
        '550403',
        '2b6570',
      )
      .map((hex) => der(derTag.objectIdentifier, Buffer.from(hex, 'hex'))),
    bytes.map((value) => derOctets(value)),
    bytes.map((value) => der(derTag.bitString, value)),
    fc.tuple(fc.nat(255), bytes).map(([tag, value]) => der(tag, value)),
    fc.array(tie('tree'), { maxLength: 7 }).map((members) => derSequence(...members)),
    fc.array(tie('tree'), { maxLength: 3 }).map((members) => der(derTag.set, ...members)),
    fc.array(tie('tree'), { maxLength: 3 }).map((members) => der(contextTag(0), ...members)),
    fc.array(tie('tree'), { maxLength: 3 }).map((members) => derOctets(Buffer.concat(members))),
  ),
}))

test('property: well-formed DER of any shape is refused with a PkiError, by every reader', () => {
  fc.assert(fc.property(tree, all), { numRuns: 1000 })
})

test('property: damaged keys, certificates and requests are read or refused with a PkiError, by every reader', () => {
  const damage = fc.record({
    which: fc.nat(),
    at: fc.nat(),
    how: fc.constantFrom('flip', 'cut', 'insert', 'swap'),
    by: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  })
  fc.assert(
    fc.property(damage, ({ which, at, how, by }) => {
      const given = whole[which % whole.length] as Buffer
      const place = at % given.length
      const [before, behind] = [given.subarray(0, place), given.subarray(place)]
      if (how === 'cut') all(before)
      else if (how === 'insert') all(Buffer.concat([before, by, behind]))
      else if (how === 'swap') all(Buffer.concat([behind, before]))
      else all(Buffer.concat([before, by, behind.subarray(by.length)]))
    }),
    { numRuns: 1500 },
  )
})

test('deep nesting, many members and huge numbers are refused quickly', () => {
  let deep = derSequence()
  for (let depth = 0; depth < 10_000; depth += 1) deep = derSequence(deep)
  const huge = der(derTag.integer, Buffer.alloc(1 << 20, 0x7f))
  const names = derSequence(...Array.from({ length: 1000 }, () => derSequence(derSequence())))
  for (const hostile of [deep, huge, names, derSequence(...Array.from({ length: 9 }, () => huge))])
    all(hostile)
})

test('property: keys with arbitrary numbers are refused with a PkiError', () => {
  const number = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(0, 1, 2, 3, 64, 65).map((value) => Uint8Array.of(value)),
    fc.uint8Array({ minLength: 128, maxLength: 128 }),
  )
  const some = fc.option(number, { nil: undefined })
  const only = (act: () => unknown): void => {
    try {
      act()
    } catch (error) {
      assert.ok(error instanceof PkiError, String(error))
    }
  }
  const rsa = fc.record({ n: number, e: some, d: some, p: some, q: some, dp: some, dq: some, qi: some })
  fc.assert(
    fc.property(rsa, (given) => {
      const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
      assert.throws(() => rsaPrivateFromNumbers(known, policy), PkiError)
      only(() => rsaPublicFromNumbers(given.n, given.e ?? Uint8Array.of(3), policy))
    }),
    { numRuns: 1000 },
  )
  const curve = curveByName('prime256v1')
  const byteKeys = byteKeyFamilies.find(({ algorithm }) => algorithm === 'ML-DSA-44')
  assert.ok(curve && byteKeys)
  fc.assert(
    fc.property(number, number, number, some, number, (P, G, Q, J, own) => {
      const domain = { P, G, Q, ...(J !== undefined && { J }) }
      for (const type of ['PrivateKey', 'PublicKey'] as const)
        for (const algorithm of ['DSA', 'DH'] as const)
          only(() => finiteFieldFromNumbers(type, algorithm, domain, own, policy))
      only(() => ecPrivateFromScalar(own, curve, policy))
      only(() => ecPublicFromPoint(own, curve))
      only(() => bytePrivateFromRaw(own, byteKeys, policy))
    }),
    { numRuns: 500 },
  )
})

test('property: damaged PKCS#12 files are refused with a PkiError', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(modernFile, legacyFile),
      fc.nat(),
      fc.nat(255),
      fc.boolean(),
      async (given, at, byte, cut) => {
        const place = at % given.length
        const changed = Buffer.from(cut ? given.subarray(0, place) : given)
        if (!cut) changed[place] = byte
        try {
          await readPkcs12(changed, 'wrong')
        } catch (error) {
          assert.ok(error instanceof PkiError, String(error))
        }
      },
    ),
    { numRuns: 80 },
  )
  await fc.assert(
    fc.asyncProperty(tree, async (given) => {
      await assert.rejects(readPkcs12(given, 'wrong'), PkiError)
    }),
    { numRuns: 300 },
  )
})

test('property: any text is a valid alternative name or extension section, or refused with a PkiError', () => {
  const anyText = fc.uint8Array({ maxLength: 40 }).map((given) => Buffer.from(given).toString('latin1'))
  const kinds = fc.constantFrom('DNS:', 'IP:', 'email:', 'URI:', '')
  fc.assert(
    fc.property(kinds, anyText, (kind, text) => {
      try {
        assert.equal(generalNameText(generalName(kind + text)), `${kind.trim()}${text.trim()}`)
      } catch (error) {
        if (error instanceof PkiError) assert.equal(error.code, 'invalid_value')
        else throw error
      }
    }),
    { numRuns: 500 },
  )
  const line = fc.tuple(
    fc.constantFrom(
      'basicConstraints',
      'keyUsage',
      'extendedKeyUsage',
      'subjectAltName',
      'crlDistributionPoints',
      '[ v3_ca ]',
    ),
    fc.constantFrom('=', ' = critical, ', ' = critical', '=critical,,', ''),
    fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom(
        'CA:TRUE',
        'keyCertSign',
        'serverAuth',
        '1.50.3',
        '2.999.1',
        'IP:fe80::1%eth0',
        'URI:http://a',
        '',
      ),
    ),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 4 }), (lines) => {
      try {
        opensslExtensions(lines.map((parts) => parts.join('')).join('\n'))
      } catch (error) {
        if (error instanceof PkiError) assert.equal(error.code, 'invalid_value')
        else throw error
      }
    }),
    { numRuns: 1000 },
  )
})
