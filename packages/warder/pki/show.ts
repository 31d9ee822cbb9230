import { requireOneName } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'
import { readId } from './arguments.ts'
import { formatCertificate, lintPem } from './certificate-text.ts'

export const showCertificateVerb = kmsVerb({
  name: 'show',
  words: 'CERTIFICATE',
  summary: 'a certificate as text, its state, and what is wrong with it by the standards',
  about: `Also of an authority. The last lines are what RFC 5280 and its companions find fault with, each with its clause; with
--json they are "findings". --pem prints the certificate alone.`,
  examples: ['warder pki show CERTIFICATE', 'warder pki show AUTHORITY --pem > ca.pem'],
  options: { pem: { type: 'flag', help: 'prints the certificate in PEM and nothing else' } },
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
        ...(findings.length === 0 && certificate !== undefined ? ['nothing is wrong with it'] : []),
        ...findings.map(({ severity, sentence, clause }) =>
          printable(`${severity}: ${sentence} (${clause})`),
        ),
      ])
      return 0
    }
  },
})
