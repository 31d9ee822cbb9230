import { printable, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { readId } from './arguments.ts'

export const autoRenewVerb = kmsVerb({
  name: 'auto-renew',
  words: 'CERTIFICATE',
  usage: '[--every DAYS] [--new-key] | --off | --show',
  summary: 'Renew a certificate automatically before it expires, or stop to',
  about: `The same authority renews the certificate at two thirds of its validity, or with --every at this interval. Its
successors are renewed in the same way. --new-key creates a new key each time, if the key of the certificate is in the service.`,
  examples: ['warder pki auto-renew CERTIFICATE', 'warder pki auto-renew CERTIFICATE --new-key --every 30'],
  options: {
    every: { type: 'number', value: 'DAYS', help: 'renewal interval in days' },
    'new-key': { type: 'flag', help: 'creates a new key each time' },
    off: { type: 'flag', help: 'stops the renewal' },
    show: { type: 'flag', help: 'only shows the current setting' },
  },
  parse({ every, 'new-key': newKey, off, show: only }, names) {
    const id = readId(requireOneName(names, 'certificate'))
    const given = every !== undefined || newKey
    if ((off && only) || ((off || only) && given))
      throw new UsageError('--off and --show cannot be combined with other options')
    const body = {
      automatic: !off,
      ...(newKey && { new_key: true }),
      ...(every !== undefined && { interval_days: every }),
    }
    return async ({ kms, show }) => {
      const renewal = await withKeyErrors('certificate', id, () =>
        only
          ? kms.call('pki.certificates.renewal.get', { path: { id } })
          : kms.call('pki.certificates.renewal.set', { path: { id }, body }),
      )
      const how = renewal.new_key ? ' with a new key' : ''
      const line = renewal.automatic
        ? `is renewed${how}, next ${renewal.due_at ?? 'never: it has no dates'}`
        : 'is not renewed automatically'
      show(renewal, [`${printable(id)}  ${line}`])
      return 0
    }
  },
})
