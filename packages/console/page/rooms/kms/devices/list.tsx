import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field } from '../../../parts/field.tsx'
import { FilterForm } from '../../../parts/filters.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Time } from '../../../parts/time.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { type Device, DeviceState, describeState, devicePath } from './state.tsx'

const words = texts.devices

/** Days of the filter by expiry. */
const expiries = ['7', '30', '90'] as const

const columns: readonly Column<Device>[] = [
  {
    title: words.name,
    value: ({ name }) => name,
    cell: ({ name }) => (
      <Link to={devicePath(name)}>
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  { title: words.state, value: describeState, cell: (device) => <DeviceState device={device} /> },
  {
    title: words.ends,
    value: (device) => device.ends_at,
    cell: ({ ends_at: at }) => (at === undefined ? '–' : <Time at={at} isShort />),
  },
  {
    title: words.lastSeen,
    value: (device) => device.last_seen,
    cell: (device) => <Time at={device.last_seen} isShort />,
  },
  { title: words.version, value: (device) => device.kmip_version },
  { title: words.keys, value: ({ keys }) => words.counted(keys) },
]

interface Filter {
  readonly search?: string
  readonly expiring_days?: string
}

function readFilter(query: URLSearchParams): Filter {
  const search = query.get('search')?.trim()
  const days = expiries.find((each) => each === query.get('expiring'))
  return { ...(search && { search }), ...(days !== undefined && { expiring_days: days }) }
}

/** KMIP clients: when their certificates end, and when they connected last. */
export function Room({ query }: RoomProps) {
  const filter = readFilter(query)
  const { search, expiring_days: days } = filter
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'kmip.devices.list',
    { query: { ...filter } },
    (page) => page,
  )
  const isFiltered = search !== undefined || days !== undefined
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      <Filters key={query.toString()} filter={filter} />
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          caption={words.title}
          columns={columns}
          rows={rows}
          rowKey={({ name }) => name}
          command={toCommand('warder kmip devices', [], { search, expiring: days && `${days}d` })}
          empty={
            <Empty title={isFiltered ? words.noMatch : words.empty}>
              <p>{isFiltered ? words.noMatchHelp : words.emptyHelp}</p>
              {!isFiltered && <CommandCode command="warder kmip certificate storage-1" />}
            </Empty>
          }
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
    </>
  )
}

function Filters({ filter }: { readonly filter: Filter }) {
  const apply = (values: Readonly<Record<string, string>>): void => {
    const given = Object.entries(values).filter(([, value]) => value.trim() !== '')
    navigate(`/ui/devices${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`)
  }
  return (
    <FilterForm label={words.filters} onApply={apply}>
      <Field label={words.search} name="search" defaultValue={filter.search ?? ''} maxLength={256} />
      <Choice
        label={words.expiring}
        name="expiring"
        value={filter.expiring_days ?? ''}
        options={[
          { value: '', text: words.anyEnd },
          ...expiries.map((days) => ({ value: days, text: words.within(days) })),
        ]}
      />
    </FilterForm>
  )
}
