import { RoomHeader } from '../../../frame/room-header.tsx'
import { useMe } from '../../../frame/session.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { Views } from '../../../parts/views.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import {
  type ApprovalRequest,
  formatObject,
  formatRequester,
  formatState,
  isRunning,
  stateKinds,
  useRequests,
} from './requests.ts'

const words = texts.approvals
const views = ['open', 'mine', 'decided'] as const
type View = (typeof views)[number]

const columns: readonly Column<ApprovalRequest>[] = [
  {
    title: words.what,
    value: ({ operation }) => words.operations[operation],
    cell: ({ id, operation }) => (
      <Link to={`/ui/approvals/${encodeURIComponent(id)}`}>{words.operations[operation]}</Link>
    ),
  },
  { title: words.object, value: formatObject },
  {
    title: words.state,
    value: ({ state }) => state,
    cell: ({ state }) => <Status kind={stateKinds[state] ?? 'neutral'}>{formatState(state)}</Status>,
  },
  { title: words.votes, value: ({ approved_by: by, needed }) => words.votesOf(by.length, needed) },
  { title: words.requester, value: formatRequester },
  {
    title: words.created,
    value: (request) => request.created_at,
    cell: (request) => <Time at={request.created_at} isShort />,
  },
  { title: words.until, value: ({ until }) => until, cell: ({ until }) => <Time at={until} isShort /> },
]

/** Requests for approval: officers see all, other users their own. */
export function Room({ query }: RoomProps) {
  const view = views.find((each) => each === query.get('view')) ?? 'open'
  const me = useMe('kms').data?.name
  const { rows, error, refetch } = useRequests()
  const belongs: Readonly<Record<View, (request: ApprovalRequest) => boolean>> = {
    open: isRunning,
    mine: ({ requester }) => requester === me,
    decided: (request) => !isRunning(request),
  }
  return (
    <>
      <RoomHeader title={words.title} actions={<Link to="/ui/officers">{texts.officers.title}</Link>}>
        {words.description}
      </RoomHeader>
      <Views
        label={words.viewsLabel}
        current={view}
        views={views.map((each) => ({
          name: each,
          title: words.views[each],
          to: `/ui/approvals?view=${each}`,
        }))}
      />
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          key={view}
          caption={`${words.title}: ${words.views[view]}`}
          columns={columns}
          rows={rows?.filter(belongs[view]).toReversed()}
          rowKey={({ id }) => id}
          command={view === 'open' ? 'warder officers requests' : 'warder officers requests --all'}
          empty={
            <Empty title={words.empty[view]}>
              <p>{words.emptyHelp}</p>
              <CodeBlock
                label={words.emptyHelp}
                samples={[{ title: 'Command', code: 'warder officers ask destroy KEY' }]}
              />
            </Empty>
          }
        />
      )}
    </>
  )
}
