import { UsageError } from '../cli/command.ts'
import { requireOneName } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'
import { readId } from './arguments.ts'

export const autoRenewVerb = kmsVerb({
  name: 'auto-renew',
  words: 'CERTIFICATE',
  usage: '[--every DAYS] [--new-key] | --off | --show',
  summary: 'has a certificate renewed before it ends, by the same authority, or no more',
  about: `At two thirds of its life, or --every so many days. The one that follows is renewed in the same way. --new-key: with a
new key each time, where the key of the certificate is in the service.`,
  examples: ['warder pki auto-renew CERTIFICATE', 'warder pki auto-renew CERTIFICATE --new-key --every 30'],
  options: {
    every: { type: 'number', value: 'DAYS', help: 'days after it was made or renewed' },
    'new-key': { type: 'flag', help: 'with a new key each time' },
    off: { type: 'flag', help: 'not any more' },
    show: { type: 'flag', help: 'only says how it is' },
  },
  parse({ every, 'new-key': newKey, off, show: only }, names) {
    const id = readId(requireOneName(names, 'certificate'))
    const given = every !== undefined || newKey
    if ((off && only) || ((off || only) && given)) throw new UsageError('--off and --show stand alone')
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
        : 'is not renewed by itself'
      show(renewal, [`${printable(id)}  ${line}`])
      return 0
    }
  },
})
