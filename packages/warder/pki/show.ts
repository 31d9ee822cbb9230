import { printable, requireOneName } from '@warder/command-line'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { readId } from './arguments.ts'
import { formatCertificate, lintPem } from './certificate-text.ts'

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
