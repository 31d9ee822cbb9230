import type { Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { texts } from '../../../texts.ts'
import { AccessHeader } from './frame.tsx'

const words = texts.myRights
type Obtained = Reply<'access.obtained'>[number]
type Owned = Reply<'access.owned'>[number]

const obtainedColumns: readonly Column<Obtained>[] = [
  { title: words.object, value: (row) => row.object_id, cell: (row) => <code>{row.object_id}</code> },
  { title: words.ownerOf, value: (row) => row.owner_id },
  { title: words.state, value: ({ state }) => state },
  { title: words.rights, value: ({ operations }) => operations },
  {
    title: words.via,
    value: ({ via }) => via,
    cell: ({ via }) => <bdi>{via?.join(', ') ?? words.byName}</bdi>,
  },
]

const ownedColumns: readonly Column<Owned>[] = [
  { title: words.object, value: (row) => row.object_id, cell: (row) => <code>{row.object_id}</code> },
  { title: words.type, value: ({ attributes }) => attributes.object_type },
  { title: words.algorithm, value: ({ attributes }) => attributes.cryptographic_algorithm ?? undefined },
  { title: words.length, value: ({ attributes }) => attributes.cryptographic_length ?? undefined },
  { title: words.state, value: ({ state }) => state },
]

/** What the user owns, and what others let the user do. */
export function Room() {
  return (
    <>
      <AccessHeader current="mine" title={words.title}>
        {words.description}
      </AccessHeader>
      <You />
      <h2>{words.obtained}</h2>
      <ObtainedTable />
      <h2>{words.owned}</h2>
      <OwnedTable />
    </>
  )
}

function You() {
  const me = kms.useOperation('server.me', {}).data
  const create = kms.useOperation('access.create', {}).data
  const privileged = kms.useOperation('access.privileged', {}).data
  const format = (value: boolean | undefined): string =>
    value === undefined ? '…' : value ? words.yes : words.no
  return (
    <dl className="facts">
      <dt>{words.you}</dt>
      <dd>
        <bdi>{me?.user ?? '…'}</bdi>
      </dd>
      <dt>{words.roles}</dt>
      <dd>
        <bdi>{me?.roles?.join(', ') || words.noRoles}</bdi>
      </dd>
      <dt>{words.mayCreate}</dt>
      <dd>{format(create?.has_create_permission)}</dd>
      <dt>{words.isOfficer}</dt>
      <dd>{format(privileged?.has_privileged_access)}</dd>
    </dl>
  )
}

function ObtainedTable() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'access.obtained',
    {},
    (page) => page,
  )
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  return (
    <DataTable
      caption={words.obtained}
      columns={obtainedColumns}
      rows={rows}
      rowKey={(row) => row.object_id}
      command="warder access report --way direct"
      empty={
        <Empty title={words.noneObtained}>
          <p>{words.noneObtainedHelp}</p>
          <CodeBlock
            label={words.noneObtainedHelp}
            samples={[{ title: 'Command', code: 'warder access grant KEY bob encrypt decrypt' }]}
          />
        </Empty>
      }
      loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
      isLoadingMore={isFetchingNextPage}
    />
  )
}

function OwnedTable() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'access.owned',
    {},
    (page) => page,
  )
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  return (
    <DataTable
      caption={words.owned}
      columns={ownedColumns}
      rows={rows}
      rowKey={(row) => row.object_id}
      command="warder keys list"
      empty={
        <Empty title={words.noneOwned}>
          <p>{words.noneOwnedHelp}</p>
          <CodeBlock
            label={words.noneOwnedHelp}
            samples={[{ title: 'Command', code: 'warder keys create --alg A256GCM' }]}
          />
        </Empty>
      }
      loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
      isLoadingMore={isFetchingNextPage}
    />
  )
}
