import { derIdentifier, derMembers } from '../../der.ts'
import { derTime } from '../../time.ts'
import { extensionIdentifiers as ids } from '../extensions.ts'
import type { Facts, Rule } from './facts.ts'

const emptyName = '3000'
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** Algorithms with MD2, MD5 and SHA-1, for which signatures can be forged. */
const broken: ReadonlySet<string> = new Set([
  '1.2.840.113549.1.1.2',
  '1.2.840.113549.1.1.4',
  '1.2.840.113549.1.1.5',
  '1.2.840.10045.4.1',
  '1.2.840.10040.4.3',
])
const weakCurves: ReadonlySet<string> = new Set([
  'prime192v1',
  'secp192k1',
  'secp112r1',
  'secp128r1',
  'secp160r1',
])
const minSerialBytes = 8
const known: ReadonlySet<string> = new Set(Object.values(ids))

/** Extensions that a standard requires to be critical or not critical. */
const criticality: readonly (readonly [name: keyof typeof ids, critical: boolean, clause: string])[] = [
  ['authorityKeyIdentifier', false, 'RFC 5280 §4.2.1.1'],
  ['subjectKeyIdentifier', false, 'RFC 5280 §4.2.1.2'],
  ['policyConstraints', true, 'RFC 5280 §4.2.1.11'],
  ['nameConstraints', true, 'RFC 5280 §4.2.1.10'],
  ['inhibitAnyPolicy', true, 'RFC 5280 §4.2.1.14'],
  ['freshestCrl', false, 'RFC 5280 §4.2.1.15'],
  ['authorityInformationAccess', false, 'RFC 5280 §4.2.2.1'],
  ['noRevAvail', false, 'RFC 9608 §2'],
]

/** Versions, serial numbers, dates, signatures, keys, and the extensions as such. */
export const structureRules: readonly Rule[] = [
  {
    name: 'version',
    clause: 'RFC 5280 §4.1.2.1',
    severity: 'error',
    check: ({ certificate, extensions }) =>
      certificate.version === 3 || extensions.length === 0
        ? undefined
        : 'It has extensions, but is not of version 3.',
  },
  {
    name: 'serial_positive',
    clause: 'RFC 5280 §4.1.2.2',
    severity: 'error',
    check: ({ certificate: { serial } }) =>
      (serial[0] ?? 0) >= 0x80 || serial.every((byte) => byte === 0)
        ? 'The serial number is not positive.'
        : undefined,
  },
  {
    name: 'serial_length',
    clause: 'RFC 5280 §4.1.2.2',
    severity: 'error',
    check: ({ certificate: { serial } }) =>
      serial.length > 20 ? 'The serial number has more than 20 bytes.' : undefined,
  },
  {
    name: 'serial_random',
    clause: 'CA/B Forum BR §7.1',
    severity: 'warning',
    check: ({ certificate: { serial } }) =>
      serial.length < minSerialBytes
        ? 'The serial number is too short for 64 random bits, so it can be predicted.'
        : undefined,
  },
  {
    name: 'issuer_empty',
    clause: 'RFC 5280 §4.1.2.4',
    severity: 'error',
    check: ({ certificate: { issuer } }) =>
      hex(issuer) === emptyName ? 'The issuer has no name.' : undefined,
  },
  {
    name: 'dates_order',
    clause: 'RFC 5280 §4.1.2.5',
    severity: 'error',
    check: ({ certificate: { notBefore, notAfter } }) =>
      notAfter < notBefore ? 'It expires before it becomes valid.' : undefined,
  },
  {
    name: 'dates_form',
    clause: 'RFC 5280 §4.1.2.5',
    severity: 'error',
    check: ({ certificate: { notBefore, notAfter }, dates }) =>
      [notBefore, notAfter].some(
        (date, index) => hex(derTime(date)) !== hex(dates[index]?.whole ?? new Uint8Array()),
      )
        ? 'A date has the wrong form for its year: UTCTime until 2049, then GeneralizedTime.'
        : undefined,
  },
  {
    name: 'signature_broken',
    clause: 'SP 800-131A §3',
    severity: 'error',
    check: (facts) =>
      broken.has(signatureAlgorithm(facts))
        ? 'It is signed with MD2, MD5 or SHA-1, which can be forged.'
        : undefined,
  },
  {
    name: 'key_strength',
    clause: 'SP 800-57 part 1 §5.6',
    severity: 'error',
    check: ({ certificate: { key } }) => {
      const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {}
      if (modulusLength !== undefined && modulusLength < 2048) return 'The key has fewer than 2048 bits.'
      return namedCurve !== undefined && weakCurves.has(namedCurve)
        ? 'The curve of the key is too small.'
        : undefined
    },
  },
  {
    name: 'rsa_exponent',
    clause: 'CA/B Forum BR §6.1.6',
    severity: 'error',
    check: ({ certificate: { key } }) => {
      const { publicExponent } = key.asymmetricKeyDetails ?? {}
      return publicExponent !== undefined && (publicExponent < 3n || publicExponent % 2n === 0n)
        ? 'The exponent of the RSA key is not an odd number of at least 3.'
        : undefined
    },
  },
  {
    name: 'extension_twice',
    clause: 'RFC 5280 §4.2',
    severity: 'error',
    check: ({ extensions }) =>
      new Set(extensions.map(({ identifier }) => identifier)).size < extensions.length
        ? 'An extension appears twice.'
        : undefined,
  },
  {
    name: 'extension_unknown_critical',
    clause: 'RFC 5280 §4.2',
    severity: 'warning',
    check: ({ extensions }) => {
      const unknown = extensions.find(({ critical, identifier }) => critical && !known.has(identifier))
      return unknown && `Clients that do not know the critical extension ${unknown.identifier} refuse it.`
    },
  },
  ...criticality.map(
    ([name, critical, clause]): Rule => ({
      name: `criticality_${name}`,
      clause,
      severity: 'error',
      check: ({ find }) => {
        const found = find(ids[name])
        if (found === undefined || found.critical === critical) return undefined
        return `The extension ${name} is ${critical ? 'not critical' : 'critical'}.`
      },
    }),
  ),
]

function signatureAlgorithm({ certificate }: Facts): string {
  return derIdentifier(derMembers(certificate.signed.algorithm, 'The signature')[0], 'The signature')
}
