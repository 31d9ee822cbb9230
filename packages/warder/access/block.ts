import { formatTable, printable, requireNoNames, requireOneName } from '@warder/command-line'
import { kmsVerb } from '@warder/command-line/kms'

const forWhom = `Requires a crypto officer, or the default user if roles.crypto_officer_users is empty. USER is the name at the
service: alice, eng/alice for another realm, app:ID for a machine.`

export const blockVerb = kmsVerb({
  name: 'block',
  words: 'USER',
  summary: 'Reject every request of a user from now on, with any credential',
  about: `${forWhom}
Keys, grants and sessions stay as they are. To end the sessions of a user: warder admin end-sessions.`,
  examples: ['warder access block mallory --reason "token was stolen"', 'warder access block app:ci'],
  options: { reason: { type: 'text', value: 'TEXT', help: 'recorded with the block and in the audit log' } },
  parse({ reason }, names) {
    const user = requireOneName(names, 'user')
    return async ({ kms, show }) => {
      await kms.call('access.block', { body: { user_id: user, ...(reason !== undefined && { reason }) } })
      show({ blocked: user }, [`${printable(user)} is blocked: all requests are rejected`])
      return 0
    }
  },
})

export const unblockVerb = kmsVerb({
  name: 'unblock',
  words: 'USER',
  summary: 'Accept the requests of a blocked user again',
  about: forWhom,
  examples: ['warder access unblock mallory'],
  options: {},
  parse(_, names) {
    const user = requireOneName(names, 'user')
    return async ({ kms, show }) => {
      const { success } = await kms.call('access.unblock', { body: { user_id: user } })
      show({ unblocked: user }, [printable(success)])
      return 0
    }
  },
})

/** Covers the maximum number of blocked users. */
const maxPages = 11

export const blockedVerb = kmsVerb({
  name: 'blocked',
  words: '',
  summary: 'List blocked users: since when, by whom and why',
  about: forWhom,
  examples: ['warder access blocked', 'warder access blocked --json | jq -r ".[].user_id"'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ kms, show }) => {
      const found: { user_id: string; blocked_at: number; blocked_by: string; reason: string }[] = []
      for (let page = 0; page < maxPages; page++) {
        const after = found.at(-1)?.user_id
        const more = await kms.call('access.blocked', { query: after === undefined ? {} : { after } })
        if (more.length === 0) break
        found.push(...more)
      }
      const rows = found.map(({ user_id, blocked_at, blocked_by, reason }) => [
        user_id,
        new Date(blocked_at * 1000).toISOString(),
        blocked_by,
        reason,
      ])
      show(found, formatTable(['USER', 'SINCE', 'BY', 'WHY'], rows, 'no user is blocked'))
      return 0
    }
  },
})
