import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Link } from '../../../parts/link.tsx'
import { toCurl } from '../../../parts/table-text.ts'
import { texts } from '../../../texts.ts'
import {
  isVendor,
  type Store,
  StoreRefusal,
  StoreState,
  storePath,
  storeState,
  storeTitle,
} from './state.tsx'

const words = texts.externalStores

const toAddress = ({ endpoint, kacls_url, service_url }: Store): string | undefined =>
  endpoint ?? kacls_url ?? service_url

const toUse = ({ name }: Store): string => (isVendor(name) ? words.uses[name] : '')

const columns: readonly Column<Store>[] = [
  {
    title: words.store,
    value: ({ name }) => name,
    cell: ({ name }) => <Link to={storePath(name)}>{storeTitle(name)}</Link>,
  },
  {
    title: words.for,
    value: toUse,
    cell: (store) => <span className="wrap">{toUse(store)}</span>,
  },
  { title: words.state, value: storeState, cell: (store) => <StoreState store={store} /> },
  { title: words.address, value: toAddress },
]

/** The clouds that may use keys of this service, and which of them are stopped. */
export function Room() {
  const { data, error, refetch } = kms.useOperation('external.list', {})
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      {error !== null ? (
        <StoreRefusal error={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          caption={words.title}
          columns={columns}
          rows={data}
          rowKey={({ name }) => name}
          command={toCurl('/v1/external-stores')}
          empty={<Empty title={words.none}>{words.noneHelp}</Empty>}
        />
      )}
    </>
  )
}
