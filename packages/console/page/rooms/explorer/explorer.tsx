import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { kms } from '../../api.ts'
import { RoomHeader } from '../../frame/room-header.tsx'
import { useInfo, useMe } from '../../frame/session.ts'
import { Failure } from '../../parts/errors.tsx'
import { Field } from '../../parts/field.tsx'
import { Link } from '../../parts/link.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import type { RoomProps } from '../../room.ts'
import { texts } from '../../texts.ts'
import {
  type ApiOperation,
  type Description,
  type ExampleValues,
  groupOperations,
  listOperations,
} from './description.ts'
import './explorer.css'
import { OperationView } from './operation-view.tsx'

const words = texts.explorer

/** The description of this service, as every client can read it. */
function useOperations() {
  return useQuery({
    queryKey: ['docs.json'],
    queryFn: async (): Promise<readonly ApiOperation[]> => {
      const reply = await fetch('/openapi.json', { credentials: 'same-origin' })
      if (!reply.ok) throw new Error(`GET /openapi.json: ${reply.status}`)
      return listOperations((await reply.json()) as Description)
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Values of this user, so that examples work: the first key that can encrypt, and the realm. */
function useExampleValues(): ExampleValues | undefined {
  const service = useInfo().data?.service
  const me = useMe(service).data
  const keys = kms.useOperation(
    'crypto.keys.list',
    { query: { algorithm: 'AES', state: 'Active', limit: '1' } },
    { enabled: service === 'kms' },
  )
  if (service === undefined || (service === 'kms' && keys.isPending)) return undefined
  const kid = keys.data?.keys[0]?.kid
  return {
    data: 'SGVsbG8',
    alg: 'dir',
    enc: 'A256GCM',
    ...(kid !== undefined && { kid, object_id: kid }),
    ...(me?.realm !== undefined && { realm_id: me.realm, username: me.name }),
  }
}

/** All operations of the service, which can be called with the session of the page. */
export function Room({ query }: RoomProps) {
  const operations = useOperations()
  const values = useExampleValues()
  const [search, setSearch] = useState('')
  const groups = useMemo(() => groupOperations(operations.data ?? [], search), [operations.data, search])
  const selected = operations.data?.find(({ operationId }) => operationId === query.get('operation'))
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      {operations.error !== null && (
        <Failure error={operations.error} retry={() => void operations.refetch()} />
      )}
      {operations.data === undefined || values === undefined ? (
        <Skeleton />
      ) : (
        <div className="explorer">
          <nav aria-label={words.operations} className="explorer-list">
            <Field label={words.search} value={search} onChange={setSearch} type="search" />
            <p className="quiet" role="status">
              {words.found([...groups.values()].flat().length)}
            </p>
            <OperationList groups={groups} selected={selected?.operationId} />
          </nav>
          <section aria-label={words.operation} className="explorer-detail">
            {selected === undefined ? (
              <p className="quiet">{words.choose}</p>
            ) : (
              <OperationView key={selected.operationId} operation={selected} values={values} />
            )}
          </section>
        </div>
      )}
    </>
  )
}

function OperationList(props: {
  readonly groups: ReadonlyMap<string, readonly ApiOperation[]>
  readonly selected: string | undefined
}) {
  const { groups, selected } = props
  return [...groups].map(([tag, members]) => (
    <section key={tag} aria-label={tag}>
      <h2>{tag}</h2>
      <ul>
        {members.map(({ operationId, method, summary }) => (
          <li key={operationId}>
            <Link
              to={`/ui/explorer?${new URLSearchParams({ operation: operationId })}`}
              isCurrent={operationId === selected}
            >
              <code>{method}</code> {summary}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  ))
}
