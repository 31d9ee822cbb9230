import { ClientError, type KmsClient, type Reply } from '@warder/client'
import { formatTable, printable, requireNoNames, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'

type Grant = Reply<'access.list'>[number]

function formatUser(user: string): string {
  return user === '*' ? '* (all users)' : user
}

export const listVerb = kmsVerb({
  name: 'list',
  words: 'KEY',
  summary: 'List the grants on a key',
  about: 'Requires the owner of the key, a crypto officer, or a user with the right authorize.',
  examples: ['warder access list KEY', "warder access list KEY --json | jq -r '.[].user_id'"],
  options: {},
  parse(_, names) {
    const kid = readKid(requireOneName(names, 'key'))
    return async ({ kms, show }) => {
      const grants = await withKeyErrors('key', kid, () =>
        kms.call('access.list', { path: { object_id: kid } }),
      )
      const rows = grants.map(({ user_id, operations, tag = '' }) => [
        formatUser(user_id),
        operations.join(' '),
        tag,
      ])
      const isTagged = rows.some(([, , tag]) => tag !== '')
      const [headings, shown] = isTagged
        ? [['USER', 'MAY', 'BY TAG'], rows]
        : [['USER', 'MAY'], rows.map((row) => row.slice(0, 2))]
      show(grants, formatTable(headings, shown, `no other user has rights on key ${printable(kid)}`))
      return 0
    }
  },
})

const pageSize = 1000
const defaultMaxKeys = 10_000
const maxKeysLimit = 1_000_000
/** The number of connections of the client. */
const concurrency = 8

async function fetchGrants(kms: KmsClient, kid: string): Promise<readonly Grant[]> {
  try {
    return await kms.call('access.list', { path: { object_id: kid } })
  } catch (error) {
    // The key was destroyed after it was listed.
    if (error instanceof ClientError && error.kind === 'not_found') return []
    throw error
  }
}

/** Ids of the caller's keys, at most `maxKeys`, and whether there are more. */
async function fetchOwnKeys(
  kms: KmsClient,
  maxKeys: number,
): Promise<{ readonly kids: readonly string[]; readonly more: boolean }> {
  const kids: string[] = []
  while (kids.length <= maxKeys) {
    const limit = Math.min(pageSize, maxKeys + 1 - kids.length)
    const after = kids.at(-1)
    const query = { limit: String(limit), ...(after !== undefined && { after }) }
    const page = await kms.call('access.owned', { query })
    for (const { object_id } of page) kids.push(object_id)
    if (page.length < limit) return { kids, more: false }
  }
  return { kids: kids.slice(0, maxKeys), more: true }
}

export const ofVerb = kmsVerb({
  name: 'of',
  words: 'USER',
  summary: 'List the rights of a user on the keys that you own',
  about: `Queries each of your keys, which takes a while if there are many. Grants to all users ('*') are included. For your
rights on keys of others: warder keys list --obtained.`,
  examples: ['warder access of bob', "warder access of '*'"],
  options: {
    limit: {
      type: 'number',
      value: 'N',
      help: `stops after N keys (default ${defaultMaxKeys}, up to ${maxKeysLimit})`,
    },
  },
  parse({ limit: maxKeys = defaultMaxKeys }, names) {
    if (maxKeys < 1 || maxKeys > maxKeysLimit) throw new UsageError(`--limit must be 1 to ${maxKeysLimit}`)
    const user = requireOneName(names, 'user')
    return async ({ kms, show, note, progress, signal }) => {
      const { kids, more } = await fetchOwnKeys(kms, maxKeys)
      const found: { key: string; user_id: string; operations: readonly string[] }[] = []
      for (let start = 0; start < kids.length; start += concurrency) {
        signal.throwIfAborted()
        const some = kids.slice(start, start + concurrency)
        const grants = await Promise.all(some.map((kid) => fetchGrants(kms, kid)))
        for (const [index, key] of some.entries()) {
          for (const { user_id, operations } of grants[index] ?? []) {
            if (user_id === user || user_id === '*') found.push({ key, user_id, operations })
          }
        }
        progress(start + some.length, kids.length)
      }
      const rows = found.map(({ key, user_id, operations }) => [
        key,
        formatUser(user_id),
        operations.join(' '),
      ])
      const nothing = `${printable(user)} has no rights on keys that you own`
      show(found, formatTable(['KEY', 'GRANTED TO', 'MAY'], rows, nothing))
      if (more) note(`only the first ${maxKeys} of your keys were checked: --limit N checks more`)
      return 0
    }
  },
})

export const meVerb = kmsVerb({
  name: 'me',
  words: '',
  summary: 'Show your name at the service and your rights beside those on keys',
  about: 'Others grant rights to this name, and the audit log records it.',
  examples: ['warder access me', 'warder access me --json | jq -r .user'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ kms, show }) => {
      const { user } = await kms.call('server.me')
      const { has_create_permission: create } = await kms.call('access.create')
      const { has_privileged_access: officer } = await kms.call('access.privileged')
      show({ user, may_create_keys: create, crypto_officer: officer }, [
        `user            ${printable(user)}`,
        `may create keys ${create ? 'yes' : 'no: a crypto officer decides (warder access grant-create)'}`,
        `crypto officer  ${officer ? 'yes' : 'no'}`,
      ])
      return 0
    }
  },
})
