import { requireNoNames, UsageError } from '../commands/options.ts'
import { formatTable, formatTime, printable } from '../terminal/table.ts'
import type { AdminApi } from './api.ts'
import { type AdminContext, adminVerb, realmOption } from './verb.ts'

interface Session {
  readonly session_id: string
  readonly username: string
  readonly auth_scheme: string
  readonly created_at: number
  readonly ends_at: number
}

const pageSize = 5000
const maxPages = 10_000
/** Maximum number of ids in one request. */
const maxIds = 5000

/** Lists the sessions of a realm, or of one user of it. */
export async function fetchSessions(
  api: AdminApi,
  realm: string,
  username: string | undefined,
): Promise<readonly Session[]> {
  const found: Session[] = []
  const who = username === undefined ? '' : `&username=${encodeURIComponent(username)}`
  let after = ''
  for (let page = 0; page < maxPages; page++) {
    const path = `/sessions/realms/${encodeURIComponent(realm)}?limit=${pageSize}${who}${after}`
    const answer = (await api.ask('GET', path)) as {
      readonly sessions: readonly Session[]
      readonly next?: string
    }
    for (const session of answer.sessions) found.push(session)
    if (answer.next === undefined) break
    after = `&after=${encodeURIComponent(answer.next)}`
  }
  return found
}

export const listSessions = adminVerb({
  name: 'sessions',
  words: '',
  summary: 'List the sessions of a realm: users, begin and end',
  examples: ['warder admin sessions --realm shop --user ann'],
  options: { realm: realmOption, user: { type: 'text', value: 'U', help: 'only sessions of this user' } },
  parse({ realm, user: username }, names) {
    requireNoNames(names)
    return async ({ api, show }) => {
      const sessions = await fetchSessions(api, realm, username)
      const rows = sessions.map((session) => [
        session.username,
        session.auth_scheme,
        formatTime(session.created_at),
        formatTime(session.ends_at),
        session.session_id,
      ])
      const headings = ['USER', 'BY', 'SINCE', 'UNTIL, IF NOT USED', 'SESSION']
      show(sessions, formatTable(headings, rows, 'there are no sessions'))
    }
  },
})

export const endSessions = adminVerb({
  name: 'end-sessions',
  words: 'ID...',
  usage: '| --realm R --user U | --realm R --all',
  summary: 'End sessions by id, of a user, or of a whole realm',
  examples: ['warder admin end-sessions --realm shop --user ann'],
  options: {
    realm: { type: 'text', value: 'R', help: 'the realm whose sessions end' },
    user: { type: 'text', value: 'U', help: 'only sessions of this user' },
    all: { type: 'flag', help: 'sessions of all users of the realm' },
  },
  parse({ realm, user: username, all }, ids) {
    const ways = [ids.length > 0, username !== undefined, all].filter((given) => given)
    if (ways.length !== 1 || (ids.length > 0 && realm !== undefined)) {
      throw new UsageError('name the sessions: their ids, or --realm R with --user U or --all')
    }
    if (ids.length > 0) return ({ api, show, confirm }) => endAll(api, ids, '', { show, confirm })
    if (realm === undefined) throw new UsageError('--realm is required')
    return async ({ api, show, confirm }) => {
      if (username !== undefined) {
        const found = (await fetchSessions(api, realm, username)).map(({ session_id }) => session_id)
        return endAll(api, found, ` of ${printable(username)} in realm ${printable(realm)}`, {
          show,
          confirm,
        })
      }
      await confirm(`End every session of realm ${printable(realm)}?`)
      await api.ask('DELETE', `/sessions/realms/${encodeURIComponent(realm)}`)
      show({ ended: { realm } }, [`every session of realm ${printable(realm)} has ended`])
    }
  },
})

async function endAll(
  api: AdminApi,
  ids: readonly string[],
  whose: string,
  { show, confirm }: Pick<AdminContext, 'show' | 'confirm'>,
): Promise<void> {
  if (ids.length > 0) {
    await confirm(`End ${ids.length} ${ids.length === 1 ? 'session' : 'sessions'}${whose}?`)
    for (let from = 0; from < ids.length; from += maxIds) {
      await api.ask('DELETE', '/sessions', { session_ids: ids.slice(from, from + maxIds) })
    }
  }
  show({ ended: ids }, [`ended ${ids.length} ${ids.length === 1 ? 'session' : 'sessions'}${whose}`])
}
