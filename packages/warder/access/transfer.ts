import { printable, UsageError } from '@warder/command-line'
import { kmsVerb } from '@warder/command-line/kms'

export const transferVerb = kmsVerb({
  name: 'transfer',
  words: 'FROM TO',
  summary: 'Transfer the keys and grants of one user to another',
  about: `Requires a crypto officer, or the default user if roles.crypto_officer_users is empty. Keys of a deleted user belong to
ended:NAME:ID; the audit log shows that name, warder keys list of an officer does not.`,
  examples: [
    'warder access transfer ann bob',
    'warder access transfer ended:ann:0b6f4c1e-6a0e-4a5e-9d55-0f6f6d0a8a11 bob',
  ],
  options: {},
  parse(_, [from, to, ...more]) {
    if (from === undefined || to === undefined || more.length > 0)
      throw new UsageError('name both users: warder access transfer FROM TO')
    return async ({ kms, show, confirm }) => {
      const { owned, granted } = await kms.call('access.holdings', { query: { user_id: from } })
      const what = `${owned} objects and grants on ${granted} objects`
      await confirm(`Transfer ${what} of ${printable(from)} to ${printable(to)}?`)
      const moved = await kms.call('access.transfer', { body: { from_user_id: from, to_user_id: to } })
      show({ from, to, ...moved }, [
        `transferred from ${printable(from)} to ${printable(to)}: ${moved.objects} objects, ${moved.grants} granted rights`,
      ])
      return 0
    }
  },
})
