import { createHash } from 'node:crypto'
import { printable, requireOneName } from '@warder/command-line'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import {
  derMembers,
  extensionIdentifiers,
  type Finding,
  generalNameText,
  keyPurposes,
  lintCertificate,
  nameText,
  parseCertificate,
  readAuthorityInformationAccess,
  readBasicConstraints,
  readCrlDistributionPoints,
  readExtendedKeyUsage,
  readKeyUsage,
  readNameConstraints,
  urlsIn,
} from '@warder/pki'
import { readId } from './arguments.ts'

export const showCertificateVerb = kmsVerb({
  name: 'show',
  words: 'CERTIFICATE',
  summary: 'Show a certificate as text, its state and its defects',
  about: `Also shows the certificate of an authority. The last lines are violations of RFC 5280 and related standards, with their
clauses ("findings" with --json). --pem prints only the certificate.`,
  examples: ['warder pki show CERTIFICATE', 'warder pki show AUTHORITY --pem > ca.pem'],
  options: { pem: { type: 'flag', help: 'prints only the certificate, in PEM' } },
  parse({ pem }, names) {
    const id = readId(requireOneName(names, 'certificate'))
    return async ({ kms, show }) => {
      const known = await withKeyErrors('certificate', id, () =>
        kms.call('pki.certificates.get', { path: { id } }),
      )
      const { certificate } = known
      if (pem && certificate !== undefined) {
        show(known, certificate.trimEnd().split('\n'))
        return 0
      }
      const state = [
        known.state,
        known.reason === undefined ? undefined : `${known.reason}, ${known.revoked_at}`,
      ].filter((each) => each !== undefined)
      const findings = certificate === undefined ? [] : lintPem(certificate)
      show({ ...known, findings }, [
        `${'certificate'.padEnd(16)} ${printable(id)}`,
        `${'state'.padEnd(16)} ${printable(state.join(': '))}`,
        `${'owner'.padEnd(16)} ${printable(known.owner)}`,
        ...(certificate === undefined ? [] : formatCertificate(certificate)),
        ...(findings.length === 0 && certificate !== undefined ? ['no defects found'] : []),
        ...findings.map(({ severity, sentence, clause }) =>
          printable(`${severity}: ${sentence} (${clause})`),
        ),
      ])
      return 0
    }
  },
})

function pemToDer(pem: string): Buffer {
  return Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')
}

/** Finds defects of a certificate. @param pem one certificate */
function lintPem(pem: string): readonly Finding[] {
  return lintCertificate(pemToDer(pem))
}

const purposeNames: ReadonlyMap<string, string> = new Map(
  Object.entries(keyPurposes).map(([name, identifier]) => [identifier, name]),
)

/** Formats a certificate as text. @param pem one certificate */
function formatCertificate(pem: string): readonly string[] {
  const der = pemToDer(pem)
  const { subject, issuer, serial, notBefore, notAfter, key, extensions } = parseCertificate(der)
  const { authority, pathLength } = readBasicConstraints(extensions)
  const constraints = readNameConstraints(extensions)
  const access = readAuthorityInformationAccess(extensions)
  const names = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectAltName)
  const formatNames = (subtrees: readonly { readonly whole: Uint8Array }[] = []) =>
    subtrees.map(({ whole }) => generalNameText(whole))
  const details = key.asymmetricKeyDetails
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['subject', nameText(subject)],
    ['issuer', nameText(issuer)],
    ['serial number', Buffer.from(serial).toString('hex')],
    ['from', formatDate(notBefore)],
    ['until', formatDate(notAfter)],
    [
      'key',
      [key.asymmetricKeyType, details?.namedCurve, formatBits(details?.modulusLength)]
        .filter(Boolean)
        .join(', '),
    ],
    ['names', joinValues(names === undefined ? [] : formatNames(derMembers(names.value, 'subjectAltName')))],
    [
      'authority',
      authority ? (pathLength === undefined ? 'yes' : `yes, path length ${pathLength}`) : undefined,
    ],
    ['permitted names', joinValues(formatNames(constraints?.permitted))],
    ['excluded names', joinValues(formatNames(constraints?.excluded))],
    ['usages', joinValues(readKeyUsage(extensions) ?? [])],
    [
      'purposes',
      joinValues((readExtendedKeyUsage(extensions) ?? []).map((each) => purposeNames.get(each) ?? each)),
    ],
    ['CRL', joinValues(urlsIn(readCrlDistributionPoints(extensions)))],
    ['OCSP', joinValues(access.ocsp)],
    ['SHA-256', createHash('sha256').update(der).digest('hex')],
  ]
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(16)} ${printable(value)}`],
  )
}

function joinValues(values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : values.join(', ')
}

function formatBits(bits: number | undefined): string | undefined {
  return bits === undefined ? undefined : `${bits} bits`
}

function formatDate(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
