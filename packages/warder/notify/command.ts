import { formatTable, requireNoNames, UsageError } from '@warder/command-line'
import { type KmsCommandParts, kmsCommand, kmsVerb } from '@warder/command-line/kms'

const testVerb = kmsVerb({
  name: 'test',
  words: '',
  summary: 'Send a test notice, and show the reply of each receiver',
  about: `Requires a crypto officer, or the default user if roles.crypto_officer_users is empty. The exit code is 1 unless every
receiver that the settings name took the notice.`,
  examples: ['warder notify test', 'warder notify test --to email'],
  options: {
    to: { type: 'text', value: 'RECEIVER', help: 'only this receiver: webhook or email' },
  },
  parse({ to }, names) {
    requireNoNames(names)
    if (to !== undefined && to !== 'webhook' && to !== 'email')
      throw new UsageError('--to must be webhook or email')
    return async ({ kms, show }) => {
      const { receivers } = await kms.call('notices.test', { body: to === undefined ? {} : { to } })
      const rows = receivers.map(({ to: sink, outcome, reply }) => [sink, outcome.replace('_', ' '), reply])
      show(receivers, formatTable(['RECEIVER', 'OUTCOME', 'REPLY'], rows, 'there is no receiver'))
      const asked =
        to === undefined ? receivers.filter(({ outcome }) => outcome !== 'not_configured') : receivers
      return asked.length > 0 && asked.every(({ outcome }) => outcome === 'delivered') ? 0 : 1
    }
  },
})

export const notifyParts: KmsCommandParts = {
  name: 'notify',
  summary: 'Test the receivers of notices',
  about: `Notices go to a webhook and by e-mail, as notices in kms.toml states: approvals, keys and certificates near their
end, blocked users, a damaged audit log, old backups.`,
  verbs: [testVerb],
  example: '  warder notify test --to email',
}

export const notify = kmsCommand(notifyParts)
