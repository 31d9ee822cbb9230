import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Status } from '../../../parts/status.tsx'
import { toCurl } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.ownSessions

type Session = AuthReply<'sessions.own'>['sessions'][number]

const toIso = (seconds: number): string => new Date(seconds * 1000).toISOString()

const columns: readonly Column<Session>[] = [
  {
    title: words.which,
    value: ({ current }) => (current ? words.current : words.other),
    cell: ({ current }) => (
      <Status kind={current ? 'good' : 'neutral'}>{current ? words.current : words.other}</Status>
    ),
  },
  { title: words.by, value: ({ auth_scheme: scheme }) => texts.account.methods[scheme] ?? scheme },
  {
    title: words.began,
    value: ({ created_at: at }) => toIso(at),
    cell: ({ created_at: at }) => <Time at={at * 1000} isShort />,
  },
  {
    title: words.ends,
    value: ({ ends_at: at }) => toIso(at),
    cell: ({ ends_at: at }) => <Time at={at * 1000} isShort />,
  },
  {
    title: words.actions,
    value: () => undefined,
    cell: (session) => (session.current ? '–' : <End session={session} />),
  },
]

/** Live sessions of the user. */
export function Sessions() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = auth.usePages(
    'sessions.own',
    {},
    ({ sessions }) => sessions,
  )
  const endOthers = auth.useAct('sessions.end_others')
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  return (
    <>
      <p>{words.help}</p>
      <DataTable
        caption={words.caption}
        columns={columns}
        rows={rows}
        rowKey={({ session_id: id }) => id}
        command={toCurl('/account/sessions')}
        empty={<p>{words.empty}</p>}
        loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
        isLoadingMore={isFetchingNextPage}
      />
      {rows?.some(({ current }) => !current) === true && (
        <Confirm
          verb={words.endOthers}
          title={words.endOthers}
          onConfirm={async () => {
            await endOthers.mutateAsync({})
            showToast(words.othersEnded)
          }}
        >
          <p>{words.endOthersHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function End({ session }: { readonly session: Session }) {
  const end = auth.useAct('sessions.end')
  return (
    <Confirm
      verb={words.end}
      title={words.endTitle}
      onConfirm={async () => {
        await end.mutateAsync({ body: { session_ids: [session.session_id] } })
        showToast(words.ended)
      }}
    >
      <p>{words.endHelp(new Date(session.created_at * 1000).toLocaleString('en-GB'))}</p>
    </Confirm>
  )
}
