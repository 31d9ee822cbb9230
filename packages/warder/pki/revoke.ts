import { printable, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { readId } from './arguments.ts'

/** Reasons of RFC 5280 §5.3.1. */
const reasons = [
  'unspecified',
  'keyCompromise',
  'cACompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
  'certificateHold',
  'privilegeWithdrawn',
  'aACompromise',
] as const

export const revokeVerb = kmsVerb({
  name: 'revoke',
  words: 'CERTIFICATE',
  summary: 'Revoke a certificate: OCSP answers at once, the CRL within seconds',
  about: `Reasons: ${reasons.join(', ')}. warder pki release reverts a certificateHold; all other reasons are permanent.`,
  examples: [
    'warder pki revoke CERTIFICATE --reason keyCompromise',
    'warder pki revoke CERTIFICATE --reason certificateHold',
  ],
  options: {
    reason: { type: 'text', value: 'R', help: 'reason (default unspecified)' },
    since: {
      type: 'text',
      value: 'DATE',
      help: 'invalidity date, 2026-11-23 or RFC 3339: the key is not trusted since then',
    },
  },
  parse({ reason: word = 'unspecified', since }, names) {
    const id = readId(requireOneName(names, 'certificate'))
    const reason = reasons.find((each) => each.toLowerCase() === word.toLowerCase())
    if (reason === undefined)
      throw new UsageError(`--reason must be one of ${reasons.join(', ')}, not '${word}'`)
    const body = { reason, ...(since !== undefined && { invalidity_date: since }) }
    return async ({ kms, show, confirm }) => {
      if (reason !== 'certificateHold') {
        const { subject } = await withKeyErrors('certificate', id, () =>
          kms.call('pki.certificates.get', { path: { id } }),
        )
        await confirm(`Revoke the certificate of ${printable(subject)} for good?`)
      }
      const revoked = await withKeyErrors('certificate', id, () =>
        kms.call('pki.certificates.revoke', { path: { id }, body }),
      )
      show(revoked, [`${printable(id)}  ${printable(revoked.state)}, ${printable(revoked.reason ?? reason)}`])
      return 0
    }
  },
})

export const releaseVerb = kmsVerb({
  name: 'release',
  words: 'CERTIFICATE',
  summary: 'Release a certificate that is on hold',
  about: 'The next revocation list, within seconds, does not contain it any more.',
  examples: ['warder pki release CERTIFICATE'],
  options: {},
  parse(_, names) {
    const id = readId(requireOneName(names, 'certificate'))
    return async ({ kms, show }) => {
      const released = await withKeyErrors('certificate', id, () =>
        kms.call('pki.certificates.release', { path: { id } }),
      )
      show(released, [`${printable(id)}  ${printable(released.state)}`])
      return 0
    }
  },
})
