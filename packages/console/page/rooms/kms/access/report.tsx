import { useEffect } from 'react'
import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field } from '../../../parts/field.tsx'
import { FilterForm } from '../../../parts/filters.tsx'
import { navigate } from '../../../parts/router.ts'
import { quoteShell } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { Views } from '../../../parts/views.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { AccessHeader, keyRights } from './frame.tsx'
import { listColumns, rowKey, toMatrix } from './report-rows.tsx'

const words = texts.access
const ways = ['owner', 'direct', 'wildcard', 'group', 'role', 'tag'] as const
const layouts = ['matrix', 'list'] as const

export interface ReportFilter {
  readonly user_id?: string
  readonly unique_identifier?: string
  readonly right?: string
  readonly way?: (typeof ways)[number]
  readonly as_of?: string
}

/** Who has which rights on which keys, by the filters in the address. */
export function Room({ query }: RoomProps) {
  const filter = readFilter(query)
  const layout = layouts.find((each) => each === query.get('layout')) ?? 'matrix'
  const linkTo = (name: string): string =>
    `/ui/access?${new URLSearchParams({ ...Object.fromEntries(query), layout: name })}`
  return (
    <>
      <AccessHeader current="report" title={words.title}>
        {words.description}
      </AccessHeader>
      <Filters key={query.toString()} filter={filter} layout={layout} />
      {filter.as_of !== undefined && (
        <p className="notice">
          {words.asOfNotice} <Time at={filter.as_of} />
        </p>
      )}
      <Views
        label={words.layoutLabel}
        current={layout}
        views={layouts.map((name) => ({ name, title: words.layout[name], to: linkTo(name) }))}
      />
      <Rights key={`${layout} ${JSON.stringify(filter)}`} filter={filter} layout={layout} />
    </>
  )
}

function readFilter(query: URLSearchParams): ReportFilter {
  const take = (name: string): string | undefined => query.get(name) || undefined
  const [user, key, right, asOf] = ['user', 'key', 'right', 'as_of'].map(take)
  const way = ways.find((each) => each === query.get('way'))
  const time = asOf === undefined ? undefined : readTime(asOf)
  return {
    ...(user !== undefined && { user_id: user }),
    ...(key !== undefined && { unique_identifier: key }),
    ...(right !== undefined && { right }),
    ...(way !== undefined && { way }),
    ...(time !== undefined && { as_of: time }),
  }
}

/** A field of date and time has no zone: it is read as UTC. */
function readTime(text: string): string | undefined {
  const time = Date.parse(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : text)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

function Filters({ filter, layout }: { readonly filter: ReportFilter; readonly layout: string }) {
  const apply = (values: Readonly<Record<string, string>>): void => {
    const given = Object.entries({ ...values, layout }).filter(([, value]) => value !== '')
    navigate(`/ui/access?${new URLSearchParams(given)}`)
  }
  return (
    <FilterForm label={words.filters} submit={words.apply} onApply={apply}>
      <Field label={words.user} name="user" defaultValue={filter.user_id ?? ''} />
      <Field label={words.key} name="key" defaultValue={filter.unique_identifier ?? ''} />
      <Choice
        label={words.right}
        name="right"
        value={filter.right ?? ''}
        options={[
          { value: '', text: words.anyRight },
          ...keyRights.map((right) => ({ value: right, text: right })),
        ]}
      />
      <Choice
        label={words.way}
        name="way"
        value={filter.way ?? ''}
        options={[
          { value: '', text: words.anyWay },
          ...ways.map((way) => ({ value: way, text: words.ways[way] })),
        ]}
      />
      <Field
        label={words.asOf}
        name="as_of"
        type="datetime-local"
        defaultValue={filter.as_of?.slice(0, 16) ?? ''}
      />
    </FilterForm>
  )
}

interface RightsProps {
  readonly filter: ReportFilter
  readonly layout: (typeof layouts)[number]
}

function Rights({ filter, layout }: RightsProps) {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'access.report',
    { query: { ...filter, limit: '1000' } },
    (page) => page,
  )
  // A page may be empty and have a successor: the service ends it after a bounded amount of work.
  const isSearching = rows?.length === 0 && hasNextPage
  useEffect(() => {
    if (isSearching && !isFetchingNextPage) void fetchNextPage()
  }, [isSearching, isFetchingNextPage, fetchNextPage])
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  const shared = {
    rows: isSearching ? undefined : rows,
    command: formatCommand(filter),
    empty: <NoRights />,
    loadMore: hasNextPage ? () => void fetchNextPage() : undefined,
    isLoadingMore: isFetchingNextPage,
  }
  const csv = new URLSearchParams(Object.entries(filter))
  return (
    <>
      {isSearching && filter.as_of !== undefined && <p role="status">{words.computing}</p>}
      {layout === 'list' ? (
        <DataTable {...shared} caption={words.caption} columns={listColumns} rowKey={rowKey} />
      ) : (
        <Matrix {...shared} />
      )}
      <p className="quiet">
        {words.officersHint}{' '}
        <a href={`/access/report/csv?${csv}`} download="rights.csv">
          {words.download}
        </a>
      </p>
    </>
  )
}

function Matrix(
  props: Omit<Parameters<typeof DataTable>[0], 'columns' | 'caption' | 'rowKey' | 'rows'> & {
    readonly rows: Parameters<typeof toMatrix>[0] | undefined
  },
) {
  const { rows, command, empty, loadMore, isLoadingMore = false } = props
  const { users, columns, keys, shown } = toMatrix(rows ?? [])
  return (
    <>
      {keys > shown && <p className="notice">{words.tooManyKeys(shown, keys)}</p>}
      <DataTable
        caption={words.matrixCaption}
        columns={columns}
        rows={rows === undefined ? undefined : users}
        rowKey={({ user }) => user}
        command={command}
        empty={empty}
        loadMore={loadMore}
        isLoadingMore={isLoadingMore}
      />
    </>
  )
}

function formatCommand(filter: ReportFilter): string {
  const options = [
    ['--as', filter.user_id],
    ['--key', filter.unique_identifier],
    ['--right', filter.right],
    ['--way', filter.way],
    ['--as-of', filter.as_of],
  ].flatMap(([name = '', value]) => (value === undefined ? [] : [name, quoteShell(value)]))
  return ['warder access report', ...options].join(' ')
}

function NoRights() {
  return (
    <Empty title={words.empty}>
      <p>{words.emptyHelp}</p>
      <CodeBlock
        label={words.emptyHelp}
        samples={[{ title: 'Command', code: 'warder access grant KEY bob encrypt decrypt' }]}
      />
    </Empty>
  )
}
