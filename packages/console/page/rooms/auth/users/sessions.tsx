import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { useMe } from '../../../frame/session.ts'
import { CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Link } from '../../../parts/link.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { RealmFrame, RealmRefusal } from '../realms/frame.tsx'
import { toUserPath } from '../realms/realm.ts'

const words = texts.realmSessions
type Session = AuthReply<'sessions.of_realm'>['sessions'][number]

/** The service ends at most 5000 sessions at once, and lists 1000 on a page. */
const maxPages = 5

const toIso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** Sessions of all users of a realm. */
export function Room({ path }: RoomProps) {
  return (
    <RealmFrame path={path} view="sessions">
      {({ id }) => <SessionTable realm={id} />}
    </RealmFrame>
  )
}

const user: Column<Session> = {
  title: texts.users.user,
  value: ({ username }) => username,
  cell: ({ realm_id: realm, username }) => (
    <Link to={toUserPath(realm, username)}>
      <bdi>{username}</bdi>
    </Link>
  ),
}

const columns: readonly Column<Session>[] = [
  { title: words.by, value: ({ auth_scheme: scheme }) => words.schemes[scheme] ?? scheme },
  {
    title: words.began,
    value: (row) => toIso(row.created_at),
    cell: (row) => <Time at={row.created_at * 1000} isShort />,
  },
  {
    title: words.ends,
    value: (row) => toIso(row.ends_at),
    cell: (row) => <Time at={row.ends_at * 1000} isShort />,
  },
  {
    title: words.session,
    value: (row) => row.session_id,
    cell: (row) => <code>{row.session_id}</code>,
  },
  { title: words.end, value: () => undefined, cell: (row) => <EndOne session={row} /> },
]

/** Sessions of a realm, or of one of its users. @param props.username undefined: all users */
export function SessionTable({ realm, username }: { readonly realm: string; readonly username?: string }) {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = auth.usePages(
    'sessions.of_realm',
    { path: { realm_id: realm }, ...(username !== undefined && { query: { username } }) },
    ({ sessions }) => sessions,
  )
  if (error !== null) return <RealmRefusal realm={realm} error={error} retry={() => void refetch()} />
  return (
    <>
      <DataTable
        caption={username === undefined ? words.caption(realm) : words.captionOf(username)}
        columns={username === undefined ? [user, ...columns] : columns}
        rows={rows}
        rowKey={(row) => row.session_id}
        command={toCommand('warder admin sessions', [], { realm, user: username })}
        empty={<p className="quiet">{words.empty}</p>}
        loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
        isLoadingMore={isFetchingNextPage}
      />
      {rows !== undefined && rows.length > 0 && (
        <EndAll realm={realm} username={username} rows={rows} hasMore={hasNextPage} />
      )}
    </>
  )
}

function EndOne({ session }: { readonly session: Session }) {
  const { session_id: id, username } = session
  const end = auth.useAct('sessions.end')
  const isOwn = useMe('auth').data?.session === id
  return (
    <Confirm
      verb={words.end}
      title={words.endTitle(username)}
      onConfirm={async () => {
        await end.mutateAsync({ body: { session_ids: [id] } })
        showToast(words.ended)
      }}
    >
      <p>{isOwn ? words.endOwn : words.endHelp}</p>
      <CommandCode command={toCommand('warder admin end-sessions', [id])} />
    </Confirm>
  )
}

/** Ids of all sessions of a user, also of those that are not loaded. */
async function listSessionIds(realm: string, username: string): Promise<readonly string[]> {
  const ids: string[] = []
  let after: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const query = { username, ...(after !== undefined && { after }) }
    const { sessions, next } = await auth.client.call('sessions.of_realm', {
      path: { realm_id: realm },
      query,
    })
    ids.push(...sessions.map((session) => session.session_id))
    if (next === undefined) break
    after = next
  }
  return ids
}

function EndAll(props: {
  readonly realm: string
  readonly username: string | undefined
  readonly rows: readonly Session[]
  readonly hasMore: boolean
}) {
  const { realm, username, rows, hasMore } = props
  const endRealm = auth.useAct('sessions.end_realm')
  const end = auth.useAct('sessions.end')
  const count = `${rows.length}${hasMore ? '+' : ''}`
  const run = async (): Promise<unknown> =>
    username === undefined
      ? endRealm.mutateAsync({ path: { realm_id: realm } })
      : end.mutateAsync({ body: { session_ids: await listSessionIds(realm, username) } })
  return (
    <Confirm
      verb={words.endAll}
      title={username === undefined ? words.endRealmTitle(realm) : words.endUserTitle(username)}
      onConfirm={async () => {
        await run()
        showToast(words.ended)
      }}
    >
      <p>{words.endAllHelp(count)}</p>
      <CommandCode
        command={toCommand('warder admin end-sessions', [], {
          realm,
          user: username,
          all: username === undefined,
        })}
      />
    </Confirm>
  )
}
