import assert from 'node:assert/strict'
import { test } from 'node:test'
import { derNull } from '../../der.ts'
import { issue, now, type Party, party, toIssuer, year } from '../../testing/authorities.ts'
import { parseCertificate } from '../certificate.ts'
import { issueCrl, type NewCrl, readCrl } from '../crl.ts'
import type { CrlEntry } from '../crl-entries.ts'
import {
  basicConstraints,
  createExtendedKeyUsage,
  type Extension,
  keyPurposes,
  keyUsage,
  subjectAltName,
} from '../extensions.ts'
import { constraintName, generalName, nameConstraints } from '../general-name.ts'
import { createCertId } from '../ocsp/cert-id.ts'
import { issueOcspResponse, type OcspStatus, ocspResponder, readOcspResponse } from '../ocsp/response.ts'
import { crlDistributionPoints, noRevAvail } from '../revocation-access.ts'
import type { RevocationSources } from './revocation.ts'
import { maxCertificates, type PathQuestion, validatePath } from './validate.ts'

const day = 86_400_000
const authority = [basicConstraints(true), keyUsage(['keyCertSign', 'cRLSign'])]
const end = [basicConstraints(false), keyUsage(['digitalSignature'])]
const [root, middle, low, leaf, stranger] = ['root', 'middle', 'low', 'leaf', 'stranger'].map((cn) =>
  party(cn),
) as [Party, Party, Party, Party, Party]
const r = await issue(root, root, authority)
const m = await issue(middle, root, authority)
const w = await issue(low, middle, authority)
const l = await issue(leaf, middle, end)

const validate = (
  certificate: Uint8Array,
  others: readonly Uint8Array[] = [m],
  more: Partial<PathQuestion> = {},
) => validatePath({ certificate, anchors: [r], others, at: now + day, ...more })
const outcome = (...given: Parameters<typeof validate>) => {
  const { validity, reason } = validate(...given)
  return reason === undefined ? validity : `${validity}: ${reason}`
}

test('a path is found among certificates in any order, and returned from the end to the anchor', () => {
  const { path, validity, reason } = validate(l, [w, l, m, m, Buffer.from('none')])
  assert.equal(validity, 'Valid')
  assert.equal(reason, undefined)
  assert.deepEqual(
    path.map((der) => Buffer.from(der)),
    [l, m, r],
  )
  assert.equal(outcome(r, []), 'Valid')
  assert.equal(outcome(m, []), 'Valid')
})

test('a path without an anchor is Unknown, also when it ends with a self-signed certificate', async () => {
  assert.equal(
    outcome(l, []),
    'Unknown: No path leads from the certificate of CN=leaf to a trusted certificate.',
  )
  assert.equal(validate(l, [m], { anchors: [] }).validity, 'Unknown')
  const alone = await issue(stranger, stranger, authority)
  assert.equal(validate(alone, [alone]).validity, 'Unknown')
  assert.equal(validate(l, [m, r], { anchors: [alone] }).validity, 'Unknown')
})

test('expired, wrongly signed and unauthorized certificates are Invalid', async () => {
  const past = [now - 2 * year, now - year] as const
  const impostor = { ...stranger, name: middle.name }
  for (const [certificate, others, reason] of [
    [await issue(leaf, middle, end, past), [m], /^Invalid: The certificate of CN=leaf has expired/],
    [await issue(leaf, middle, end, [now + year, now + 2 * year]), [m], /^Invalid: .*not valid yet/],
    [l, [await issue(middle, root, authority, past)], /^Invalid: The certificate of CN=middle has expired/],
    [l, [await issue(middle, root, end)], /^Invalid: The certificate of CN=middle is not a CA certificate/],
    [
      l,
      [await issue(middle, root, [basicConstraints(true), keyUsage(['cRLSign'])])],
      /^Invalid: The key of CN=middle may not sign certificates/,
    ],
    [await issue(leaf, impostor, end), [m], /^Unknown/],
    [Buffer.from('none'), [], /^Invalid: The value is not an X.509 certificate/],
  ] as const)
    assert.match(outcome(certificate, others), reason)
  const flipped = Buffer.from(l)
  flipped.writeUInt8(l.readUInt8(l.length - 1) ^ 1, l.length - 1)
  assert.match(outcome(flipped), /^Invalid: The signature of the certificate of CN=leaf is wrong/)
  assert.throws(() => validate(l, [m], { anchors: [Buffer.from('none')] }), { code: 'malformed' })
})

test('the certificate of an issuer that leads to the anchor is selected', async () => {
  const expired = await issue(middle, root, authority, [now - 2 * year, now - year])
  const crossed = await issue(middle, stranger, authority)
  assert.equal(outcome(l, [expired, crossed, m]), 'Valid')
  assert.equal(outcome(l, [expired, crossed]), 'Invalid: The certificate of CN=middle has expired.')
})

test('RFC 5280 §4.2: unknown critical and duplicate extensions are Invalid', async () => {
  const strange = { identifier: '1.2.3.4', critical: true, value: derNull }
  assert.match(
    outcome(await issue(leaf, middle, [...end, strange])),
    /^Invalid: .*unknown critical extension/,
  )
  assert.equal(outcome(await issue(leaf, middle, [...end, { ...strange, critical: false }])), 'Valid')
  assert.match(outcome(await issue(leaf, middle, [...end, ...end])), /^Invalid: .*twice/)
})

test('RFC 5280 §6.1.4: path lengths apply to all subordinates, without self-issued certificates', async () => {
  const limited = (length: number) =>
    issue(root, root, [basicConstraints(true, length), keyUsage(['keyCertSign'])])
  const deep = await issue(leaf, low, end)
  const under = async (length: number, certificate: Uint8Array) =>
    outcome(certificate, [m, w], { anchors: [await limited(length)] })
  assert.match(await under(1, deep), /^Invalid: The certificate of CN=low exceeds the path length/)
  assert.equal(await under(2, deep), 'Valid')
  // The last certificate does not count, although it is a CA certificate.
  assert.equal(await under(1, w), 'Valid')
  const renewed = { ...party('root'), name: root.name }
  const rollover = await issue(renewed, root, authority)
  const below = await issue(leaf, renewed, end)
  assert.equal(outcome(below, [rollover], { anchors: [await limited(0)] }), 'Valid')
})

test('every certificate of the path that lists purposes must list the required one', async () => {
  const purpose = keyPurposes.serverAuth
  const client = await issue(leaf, middle, [...end, createExtendedKeyUsage([keyPurposes.clientAuth])])
  assert.match(
    outcome(client, [m], { purpose }),
    /^Invalid: The certificate of CN=leaf is not for this purpose/,
  )
  assert.equal(outcome(client, [m], { purpose: keyPurposes.clientAuth }), 'Valid')
  const limited = await issue(middle, root, [...authority, createExtendedKeyUsage([keyPurposes.clientAuth])])
  assert.match(outcome(l, [limited], { purpose }), /^Invalid: The certificate of CN=middle is not for this/)
  assert.equal(
    outcome(await issue(leaf, middle, [...end, createExtendedKeyUsage(['2.5.29.37.0'])]), [m], { purpose }),
    'Valid',
  )
  assert.match(
    outcome(l, [m], { uses: ['keyAgreement'] }),
    /^Invalid: The key of CN=leaf does not permit this use/,
  )
})

test('signatures of every algorithm are verified', async () => {
  for (const [type, options] of [
    ['rsa', { modulusLength: 2048 }],
    ['ec', { namedCurve: 'P-521' }],
    ['ed25519', {}],
    ['ml-dsa-87', {}],
    ['slh-dsa-shake-128f', {}],
  ] as const) {
    const issuer = party('root', type, options)
    const anchors = [await issue(issuer, issuer, authority)]
    const certificate = await issue(leaf, issuer, end)
    assert.equal(outcome(certificate, [], { anchors }), 'Valid', type)
    const other = party('root', type, options)
    const forged = await issue(leaf, { ...other, spki: issuer.spki }, end)
    assert.match(outcome(forged, [], { anchors }), /signature .* wrong/, type)
  }
})

test('the validation of hostile certificate meshes is limited', async () => {
  // Twelve authorities with the same name, each certified by all of them: too many paths to try.
  const keys = Array.from({ length: 12 }, () => ({ ...party('mesh'), name: middle.name }))
  const others: Buffer[] = []
  for (const one of keys) for (const other of keys) others.push(await issue(one, other, authority))
  const certificate = await issue(leaf, keys[0] as Party, end)
  assert.match(outcome(certificate, others), /^Unknown: No path .* within the work/)
  assert.match(outcome(l, [m], { signatures: 1 }), /^Unknown: No path .* within the work/)
  assert.equal(outcome(l, [m], { signatures: 2 }), 'Valid')
  // Certificates beyond the limit are not read.
  assert.equal(validate(l, [...Array.from({ length: maxCertificates }, () => w), m]).validity, 'Unknown')
})

const createCrl = async (issuer: Party, revoked: readonly Uint8Array[], more: Partial<NewCrl> = {}) => {
  const entries: CrlEntry[] = revoked.map((der) => ({
    serial: parseCertificate(der).serial,
    revokedAt: now,
    reason: 'keyCompromise',
  }))
  return readCrl(
    await issueCrl(
      { number: 1n, thisUpdate: now, nextUpdate: now + 7 * day, entries, ...more },
      toIssuer(issuer),
    ),
  )
}
const responseFor = async (certificate: Uint8Array, issuer: Party, status: OcspStatus, thisUpdate = now) => {
  const certId = createCertId('sha256', issuer, parseCertificate(certificate).serial)
  const answers = [{ certId, status, thisUpdate, nextUpdate: now + 7 * day }]
  const read = readOcspResponse(
    await issueOcspResponse({ answers, producedAt: now }, ocspResponder(toIssuer(issuer))),
  )
  assert.ok(read.error === undefined)
  return read
}
const checked = (
  certificate: Uint8Array,
  sources: Partial<RevocationSources>,
  required = true,
  others = [m],
) => outcome(certificate, others, { revocation: { crls: [], responses: [], ...sources, required } })

test('CRLs and responses determine the status; without information it is Unknown where required', async () => {
  const [ofRoot, ofMiddle] = [await createCrl(root, []), await createCrl(middle, [])]
  assert.equal(checked(l, { crls: [ofRoot, ofMiddle] }), 'Valid')
  assert.equal(
    checked(l, { crls: [ofRoot] }),
    'Unknown: The revocation status of the certificate of CN=leaf is unknown.',
  )
  assert.equal(checked(l, { crls: [ofRoot] }, false), 'Valid')
  const revoked = 'Invalid: The certificate of CN=leaf is revoked.'
  assert.equal(checked(l, { crls: [await createCrl(middle, [l])] }, false), revoked)
  assert.equal(
    checked(l, { crls: [await createCrl(root, [m]), ofMiddle] }),
    revoked.replace('leaf', 'middle'),
  )
  const good = await responseFor(l, middle, { kind: 'good' })
  assert.equal(checked(l, { crls: [ofRoot], responses: [good] }), 'Valid')
  const bad = await responseFor(l, middle, { kind: 'revoked', revokedAt: now, reason: 'superseded' })
  assert.equal(checked(l, { crls: [ofRoot, ofMiddle], responses: [bad] }), revoked)
  const unknown = await responseFor(l, middle, { kind: 'unknown' })
  assert.match(checked(l, { crls: [ofRoot], responses: [unknown] }), /^Unknown: The responder does not know/)
  // The status of each certificate is reported, and the newest information counts: a hold that was lifted.
  const lifted = await responseFor(l, middle, { kind: 'good' }, now + 1000)
  assert.equal(checked(l, { crls: [ofRoot, await createCrl(middle, [l])], responses: [lifted] }), 'Valid')
  const revocation = { crls: [ofRoot], responses: [bad], required: true }
  assert.deepEqual(validate(l, [m], { revocation }).revocation, [
    { kind: 'revoked', revokedAt: now, reason: 'superseded' },
    { kind: 'good' },
  ])
})

test('unusable CRLs and responses are reported with a reason', async () => {
  const ofRoot = await createCrl(root, [])
  const unknown = async (crl: Awaited<ReturnType<typeof createCrl>>) => checked(l, { crls: [ofRoot, crl] })
  assert.match(
    await unknown(await createCrl(middle, [l], { nextUpdate: now })),
    /^Unknown: The CRL of CN=middle is out of/,
  )
  assert.match(
    await unknown(await createCrl(middle, [l], { thisUpdate: now + 2 * day })),
    /^Unknown: .* from the future/,
  )
  const forged = await createCrl({ ...stranger, name: middle.name, spki: middle.spki }, [l])
  assert.match(await unknown(forged), /^Unknown: The signature of the CRL of CN=middle is wrong/)
  assert.match(await unknown(await createCrl(stranger, [l])), /^Unknown: The revocation status/)
  assert.match(
    await unknown(await createCrl(middle, [l], { number: 2n, baseNumber: 1n })),
    /^Unknown: The revocation status/,
  )
  const noCrl = await issue(middle, root, [basicConstraints(true), keyUsage(['keyCertSign'])])
  const crls = [ofRoot, await createCrl(middle, [l])]
  assert.match(checked(l, { crls }, true, [noCrl]), /^Unknown: CN=middle is not permitted to sign CRLs/)
  const stale = await responseFor(l, { ...stranger, name: middle.name, spki: middle.spki }, { kind: 'good' })
  assert.match(
    checked(l, { crls: [ofRoot], responses: [stale] }),
    /^Unknown: The signature of the OCSP response/,
  )
})

test('RFC 5280 §6.3.3: a CRL applies only to certificates in its scope', async () => {
  const ofRoot = await createCrl(root, [])
  const urls = ['http://pki.example/crl']
  const pointed = await issue(leaf, middle, [...end, crlDistributionPoints(urls)])
  const scoped = (scope: NonNullable<NewCrl['scope']>, certificate: Uint8Array = pointed) =>
    createCrl(middle, [certificate], { scope }).then((crl) => checked(certificate, { crls: [ofRoot, crl] }))
  assert.match(await scoped({ urls }), /^Invalid: .* is revoked/)
  assert.match(await scoped({ urls, only: 'users' }), /^Invalid/)
  assert.match(await scoped({ urls, only: 'authorities' }), /^Unknown/)
  assert.match(await scoped({ urls: ['http://pki.example/other'] }), /^Unknown/)
  assert.match(await scoped({ urls }, l), /^Unknown/)
  assert.match(await scoped({ urls: [], only: 'authorities' }, w), /^Invalid/)
})

test('RFC 9608: revocation is not checked for certificates without revocation, except for authorities', async () => {
  const crls = [await createCrl(root, [])]
  const short = await issue(leaf, middle, [...end, noRevAvail])
  assert.equal(checked(short, { crls }), 'Valid')
  const wrong = await issue(middle, root, [...authority, noRevAvail])
  assert.match(checked(short, { crls: [] }, true, [wrong]), /^Unknown: .*CN=middle/)
})

test('names from a certificate cannot change the display of a message', async () => {
  const odd = party(`a\u001b[2J\u202e${'x'.repeat(300)}`)
  const certificate = await issue(odd, stranger, end)
  const { reason = '' } = validate(certificate)
  assert.ok(![...reason].some((character) => character === '\u001b' || character === '\u202e'))
  assert.ok(reason.length < 250)
})

const names = (...texts: readonly string[]): readonly Extension[] => [
  ...end,
  subjectAltName(texts.map(generalName), true),
]
const subtrees = (...texts: readonly string[]) => texts.map(constraintName)

test('RFC 5280 §4.2.1.10: names are checked against the constraints of superior authorities', async () => {
  const nobody = party('')
  for (const [kind, subtree, inside, outside] of [
    [
      'permitted',
      'DNS:example.com',
      ['example.com', 'a.b.EXAMPLE.com', '*.example.com'],
      ['badexample.com', 'example.org', 'a..example.com', 'example.com.'],
    ],
    ['permitted', 'DNS:.example.com', ['a.example.com'], ['example.com']],
    [
      'excluded',
      'DNS:bad.example.com',
      ['example.com', 'xbad.example.com', '*.other.example.com'],
      ['bad.example.com', 'a.bad.example.com', '*.example.com', 'b d'],
    ],
    [
      'permitted',
      'email:example.com',
      ['a@example.com'],
      ['a@b.example.com', 'a@example.org', '@example.com', 'example.com'],
    ],
    ['permitted', 'email:.example.com', ['a@b.example.com'], ['a@example.com']],
    ['permitted', 'email:Root@example.com', ['Root@Example.com'], ['root@example.com', 'a@example.com']],
    [
      'permitted',
      'URI:example.com',
      ['https://u@example.com:8443/x', 'spiffe://example.com'],
      [
        'https://a.example.com/',
        'https://example.com.evil.org/',
        'urn:x',
        'https://192.0.2.1/',
        'https://[::1]/',
        'https://example.com@evil.org/',
        'https://evil.org?@example.com',
        'https://evil.org\\@example.com/',
      ],
    ],
    ['permitted', 'URI:.example.com', ['https://a.example.com/'], ['https://example.com/']],
    ['permitted', 'IP:192.0.2.0/25', ['192.0.2.127'], ['192.0.2.128', '2001:db8::1']],
    ['excluded', 'IP:2001:db8::/32', ['192.0.2.1', '2001:db9::1'], ['2001:db8::1']],
  ] as const) {
    const limited = await issue(middle, root, [...authority, nameConstraints({ [kind]: subtrees(subtree) })])
    const type = subtree.slice(0, subtree.indexOf(':'))
    for (const name of inside)
      assert.equal(
        outcome(await issue(nobody, middle, names(`${type}:${name}`)), [limited]),
        'Valid',
        `${subtree} ${name}`,
      )
    for (const name of outside)
      assert.match(
        outcome(await issue(nobody, middle, names(`${type}:${name}`)), [limited]),
        /^Invalid: A name of the certificate of an unnamed subject violates/,
        `${subtree} ${name}`,
      )
    // Names of other kinds are not concerned.
    const other = type === 'IP' ? 'DNS:elsewhere.org' : 'IP:198.51.100.1'
    assert.equal(outcome(await issue(nobody, middle, names(other)), [limited]), 'Valid')
  }
})
