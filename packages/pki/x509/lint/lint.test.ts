import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  contextTag,
  der,
  derBitString,
  derInteger,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derSequence,
  derTag,
} from '../../der.ts'
import { issue, now, party, year } from '../../testing/authorities.ts'
import { derGeneralizedTime, derTime } from '../../time.ts'
import { type NameParts, nameFromParts } from '../distinguished-name.ts'
import {
  authorityKeyIdentifier,
  basicConstraints,
  computeKeyIdentifier,
  createExtendedKeyUsage,
  type Extension,
  encodeExtension,
  extensionIdentifiers as ids,
  type KeyUsageName,
  keyPurposes,
  keyUsage,
  subjectAltName,
  subjectKeyIdentifier,
} from '../extensions.ts'
import { constraintName, generalName, nameConstraints, spiffeName } from '../general-name.ts'
import { anyPolicy, certificatePolicies, policyConstraints, policyMappings } from '../policies.ts'
import { type ProfileName, profileExtensions, profiles } from '../profiles.ts'
import { crlDistributionPoints, noRevAvail, ocspNoCheck } from '../revocation-access.ts'
import { lintCertificate, lintRules } from './lint.ts'

const root = party('root')
const subject = party('a.example')
const crl = ['http://pki.example/crl']
const dns = (...names: readonly string[]) => names.map((name) => generalName(`DNS:${name}`))
const rules = (certificate: Uint8Array) => lintCertificate(certificate).map(({ rule }) => rule)

test('certificates of every profile have no finding', async () => {
  const wishes: Readonly<Record<ProfileName, object>> = {
    server: { names: dns('a.example', '*.b.example') },
    client: { names: [generalName('email:a@b.example')] },
    codeSigning: {},
    authority: { pathLength: 0, permitted: [constraintName('DNS:example')], policies: ['1.2.3'] },
    ocspResponder: {},
    spiffe: { names: [spiffeName('spiffe://example.org/a')] },
  }
  for (const name of Object.keys(profiles) as ProfileName[])
    for (const [type, options] of [
      ['ec', { namedCurve: 'P-256' }],
      ['rsa', { modulusLength: 2048 }],
      ['ed25519', {}],
      ['ml-dsa-44', {}],
      ['slh-dsa-sha2-128f', {}],
    ] as const) {
      const key = party('a.example', type, options)
      const wish = { spki: key.spki, crlUrls: crl, ocspUrls: ['http://pki.example/ocsp'], ...wishes[name] }
      assert.deepEqual(
        lintCertificate(await issue(key, root, profileExtensions(name, wish))),
        [],
        `${name} ${type}`,
      )
    }
  for (const type of ['ml-kem-768', 'x25519', 'x448'])
    for (const name of ['server', 'client'] as const) {
      const key = party('a.example', type, {})
      const wish = { spki: key.spki, crlUrls: crl, names: dns('a.example') }
      assert.deepEqual(
        lintCertificate(await issue(key, root, profileExtensions(name, wish))),
        [],
        `${name} ${type}`,
      )
    }
  const short = profileExtensions('server', {
    spki: subject.spki,
    names: dns('a.example'),
    noRevocation: true,
  })
  assert.deepEqual(lintCertificate(await issue(subject, root, short, [now, Date.UTC(2050, 0, 1)])), [])
  const self = profileExtensions('authority', { spki: root.spki })
  assert.deepEqual(lintCertificate(await issue(root, root, self)), [])
})

/** The signed members of a certificate without defects, in their order. */
interface Body {
  readonly version: Uint8Array
  readonly serial: Uint8Array
  readonly algorithm: Uint8Array
  readonly issuer: Uint8Array
  readonly dates: readonly Uint8Array[]
  readonly subject: Uint8Array
  readonly spki: Uint8Array
  readonly extensions: readonly Extension[]
}
const ecdsa = derSequence(derObjectIdentifier('1.2.840.10045.4.3.2'))
const good: Body = {
  version: der(contextTag(0), derNumber(2)),
  serial: derInteger(Buffer.alloc(16, 0x55)),
  algorithm: ecdsa,
  issuer: root.name,
  dates: [derTime(now), derTime(now + year)],
  subject: subject.name,
  spki: subject.spki,
  extensions: [
    subjectKeyIdentifier(computeKeyIdentifier(subject.spki)),
    authorityKeyIdentifier(computeKeyIdentifier(root.spki)),
    ...profileExtensions('server', { spki: subject.spki, names: dns('a.example'), crlUrls: crl }),
  ],
}

/** Encodes a certificate of these members. Its signature is not verified. */
function certificate(changed: Partial<Body>): Buffer {
  const body = { ...good, ...changed }
  const { version, serial, algorithm, issuer, dates, subject: name, spki, extensions } = body
  const list =
    extensions.length === 0 ? [] : [der(contextTag(3), derSequence(...extensions.map(encodeExtension)))]
  const data = derSequence(version, serial, algorithm, issuer, derSequence(...dates), name, spki, ...list)
  return derSequence(data, algorithm, derBitString(Buffer.alloc(64)))
}
/** The extensions without defects, some of them replaced by others of the same type. */
function having(...extensions: readonly Extension[]): Buffer {
  const replaced = new Set(extensions.map(({ identifier }) => identifier))
  return certificate({
    extensions: [...good.extensions.filter(({ identifier }) => !replaced.has(identifier)), ...extensions],
  })
}
const without = (...identifiers: readonly string[]) => ({
  extensions: good.extensions.filter(({ identifier }) => !identifiers.includes(identifier)),
})
const named = (...parts: NameParts) => certificate({ subject: nameFromParts(parts) })
const ofKey = (type: string, options: object, uses: readonly KeyUsageName[]) => {
  const { spki } = party('a.example', type, options)
  const extensions = good.extensions.map((each) => (each.identifier === ids.keyUsage ? keyUsage(uses) : each))
  return certificate({ spki, extensions })
}
const empty = (identifier: string, critical = false): Extension => ({
  identifier,
  critical,
  value: derSequence(),
})
const flipped = (extension: Extension): Extension => ({ ...extension, critical: !extension.critical })
const authority = [basicConstraints(true), keyUsage(['keyCertSign'])]
const rsa = (exponent: number) => {
  const key = derSequence(derInteger(Buffer.alloc(256, 0x81)), derNumber(exponent))
  const algorithm = derSequence(derObjectIdentifier('1.2.840.113549.1.1.1'), der(derTag.null))
  return derSequence(algorithm, derBitString(key))
}

/** A certificate with the defect, for each rule. */
const faulty: Readonly<Record<string, Uint8Array>> = {
  version: certificate({ version: der(contextTag(0), derNumber(1)) }),
  serial_positive: certificate({ serial: der(derTag.integer, Buffer.alloc(16, 0x85)) }),
  serial_length: certificate({ serial: derInteger(Buffer.alloc(21, 0x55)) }),
  serial_random: certificate({ serial: derNumber(7) }),
  issuer_empty: certificate({ issuer: derSequence() }),
  dates_order: certificate({ dates: [derTime(now), derTime(now - year)] }),
  dates_form: certificate({ dates: [derTime(now), derGeneralizedTime(now + year)] }),
  signature_broken: certificate({
    algorithm: derSequence(derObjectIdentifier('1.2.840.113549.1.1.5'), der(derTag.null)),
  }),
  key_strength: ofKey('rsa', { modulusLength: 1024 }, ['digitalSignature']),
  rsa_exponent: certificate({ spki: rsa(4) }),
  extension_twice: certificate({ extensions: [...good.extensions, ...good.extensions] }),
  extension_unknown_critical: having({ ...empty('1.2.3.4'), critical: true }),
  criticality_authorityKeyIdentifier: having(
    flipped(authorityKeyIdentifier(computeKeyIdentifier(root.spki))),
  ),
  criticality_subjectKeyIdentifier: having(flipped(subjectKeyIdentifier(computeKeyIdentifier(subject.spki)))),
  criticality_policyConstraints: having(flipped(policyConstraints({ requireExplicit: 0 }))),
  criticality_nameConstraints: having(
    ...authority,
    flipped(nameConstraints({ permitted: [constraintName('DNS:a')] })),
  ),
  criticality_inhibitAnyPolicy: having({
    identifier: ids.inhibitAnyPolicy,
    critical: false,
    value: derNumber(0),
  }),
  criticality_freshestCrl: having({
    ...crlDistributionPoints(crl),
    identifier: ids.freshestCrl,
    critical: true,
  }),
  criticality_authorityInformationAccess: having(empty(ids.authorityInformationAccess, true)),
  criticality_noRevAvail: certificate({
    extensions: [...without(ids.crlDistributionPoints).extensions, flipped(noRevAvail)],
  }),
  subject_or_names: certificate({ subject: derSequence(), ...without(ids.subjectAltName) }),
  names_critical: certificate({ subject: derSequence() }),
  names_empty: having(empty(ids.subjectAltName)),
  server_names: having(subjectAltName([generalName('email:a@b.example')])),
  common_name_is_name: having(subjectAltName(dns('b.example'))),
  dns_form: having(subjectAltName(dns('a.example', 'a b'))),
  dns_address: having(subjectAltName(dns('a.example', '192.0.2.1'))),
  wildcard: having(subjectAltName(dns('a.example', 'w*.a.example'))),
  ip_length: having(subjectAltName([...dns('a.example'), der(contextTag(7, false), Buffer.alloc(5))])),
  email_form: having(subjectAltName([...dns('a.example'), der(contextTag(1, false), Buffer.from('a'))])),
  uri_form: having(subjectAltName([...dns('a.example'), der(contextTag(6, false), Buffer.from('/a'))])),
  spiffe_one_uri: having(
    subjectAltName([...dns('a.example'), spiffeName('spiffe://a/b'), spiffeName('spiffe://a/c')]),
  ),
  spiffe_usage: having(
    subjectAltName([...dns('a.example'), spiffeName('spiffe://a/b')]),
    keyUsage(['digitalSignature', 'cRLSign']),
  ),
  country: named(['C', 'ch'], ['CN', 'a.example']),
  part_length: named(['O', 'o'.repeat(65)], ['CN', 'a.example']),
  part_characters: named(['O', 'a\u0007'], ['CN', 'a.example']),
  key_usage_empty: having({
    ...empty(ids.keyUsage),
    critical: true,
    value: der(derTag.bitString, Buffer.of(0)),
  }),
  key_usage_critical: having(flipped(keyUsage(['digitalSignature']))),
  key_usage_only: having(keyUsage(['digitalSignature', 'encipherOnly'])),
  key_usage_of_ML_DSA: ofKey('ml-dsa-44', {}, ['digitalSignature', 'keyEncipherment']),
  key_usage_of_SLH_DSA: ofKey('slh-dsa-sha2-128f', {}, ['digitalSignature', 'keyAgreement']),
  key_usage_of_ML_KEM: ofKey('ml-kem-512', {}, ['keyEncipherment', 'digitalSignature']),
  key_usage_of_X_25519_448: ofKey('x25519', {}, ['keyAgreement', 'digitalSignature']),
  key_usage_of_Ed_25519_448: ofKey('ed25519', {}, ['digitalSignature', 'keyAgreement']),
  key_usage_of_ec: ofKey('ec', { namedCurve: 'P-256' }, ['digitalSignature', 'keyEncipherment']),
  key_usage_of_rsa_pss: ofKey('rsa', { modulusLength: 2048 }, ['digitalSignature', 'keyAgreement']),
  purpose_without_usage: having(keyUsage(['cRLSign'])),
  purposes_empty: having(empty(ids.createExtendedKeyUsage)),
  any_purpose_critical: having(createExtendedKeyUsage(['2.5.29.37.0', keyPurposes.serverAuth], true)),
  ocsp_no_check_purpose: having(ocspNoCheck),
  ocsp_responder_no_check: having(createExtendedKeyUsage([keyPurposes.OCSPSigning])),
  ca_subject: certificate({
    subject: derSequence(),
    extensions: [...without(ids.keyUsage, ids.basicConstraints).extensions, ...authority],
  }),
  ca_key_usage: having(basicConstraints(true)),
  cert_sign_without_ca: having(keyUsage(['digitalSignature', 'keyCertSign'])),
  ca_basic_constraints_critical: having(flipped(basicConstraints(true)), keyUsage(['keyCertSign'])),
  path_length_without_ca: having({ ...basicConstraints(false), value: derSequence(derNumber(0)) }),
  ca_key_identifier: certificate({
    extensions: [
      ...without(ids.subjectKeyIdentifier, ids.keyUsage, ids.basicConstraints).extensions,
      ...authority,
    ],
  }),
  key_identifier: certificate(without(ids.subjectKeyIdentifier)),
  authority_key_identifier: certificate(without(ids.authorityKeyIdentifier)),
  key_identifier_form: certificate({ issuer: subject.name }),
  name_constraints_without_ca: having(nameConstraints({ permitted: [constraintName('DNS:a')] })),
  name_constraints_empty: having(...authority, empty(ids.nameConstraints, true)),
  policy_twice: having(certificatePolicies(['1.2.3', '1.2.3'])),
  policy_mapping_any: having(...authority, policyMappings([['1.2.3', anyPolicy]])),
  policy_constraints_empty: having(...authority, empty(ids.policyConstraints, true)),
  no_rev_avail_ca: having(...authority, noRevAvail),
  no_rev_avail_and_address: having(noRevAvail),
  revocation_address: certificate(without(ids.crlDistributionPoints)),
}

test('each rule finds its defect, with clause and description', () => {
  assert.deepEqual(rules(certificate({})), [])
  assert.deepEqual(Object.keys(faulty).sort(), lintRules.map(({ name }) => name).sort())
  for (const [rule, made] of Object.entries(faulty)) {
    const found = lintCertificate(made)
    const own = found.find((each) => each.rule === rule)
    assert.ok(own, `${rule}: ${JSON.stringify(found)}`)
    assert.match(own.clause, /§/)
    assert.match(own.sentence, /^[A-Za-z].*\.$/)
  }
})

test('names that differ only in their encoding have no finding', () => {
  const address = [...dns('a.example'), generalName('IP:2001:db8::1'), generalName('IP:192.0.2.1')]
  assert.deepEqual(rules(having(subjectAltName(address))), [])
  assert.deepEqual(rules(certificate({ subject: nameFromParts([['CN', 'A.example']]) })), [])
  assert.deepEqual(
    rules(having(subjectAltName([...dns('*.a.example', 'a.example'), generalName('URI:urn:a:b')]))),
    [],
  )
})

test('property: unreadable bytes are a finding', () => {
  const base = certificate({})
  const changes = fc.tuple(fc.nat(base.length - 1), fc.nat(255), fc.boolean())
  fc.assert(
    fc.property(changes, ([at, byte, cut]) => {
      const changed = Buffer.from(cut ? base.subarray(0, at) : base)
      if (!cut) changed[at] = byte
      for (const { sentence } of lintCertificate(changed)) assert.ok(sentence.endsWith('.'))
    }),
    { numRuns: 1000 },
  )
  assert.deepEqual(rules(Buffer.from('none')), ['unreadable'])
  assert.ok(derMembers(base, 'it').length === 3)
})
