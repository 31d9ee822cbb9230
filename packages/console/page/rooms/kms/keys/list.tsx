import { useMutation } from '@tanstack/react-query'
import { ClientError, type Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field, Form } from '../../../parts/field.tsx'
import { FilterForm } from '../../../parts/filters.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Time } from '../../../parts/time.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import {
  dayFilters,
  type KeyFilter,
  readFilter,
  stateFilters,
  toCommand,
  toKeyPage,
  toQuery,
  types,
} from './filter.ts'
import { describeState, KeyState } from './state.tsx'

import './keys.css'

const words = texts.keys
type Key = Reply<'crypto.keys.list'>['keys'][number]
type Obtained = Reply<'access.obtained'>[number]

const columns: readonly Column<Key>[] = [
  {
    title: words.id,
    value: ({ kid }) => kid,
    cell: ({ kid }) => (
      <Link to={toKeyPage(kid)}>
        <code>{kid}</code>
      </Link>
    ),
  },
  {
    title: words.name,
    value: ({ name, aliases: [alias] }) => (alias === undefined ? name : `alias/${alias}`),
  },
  {
    title: words.type,
    value: ({ alg, crv, algorithm, bits, object_type: type }) =>
      [alg ?? crv ?? `${algorithm ?? type} ${bits ?? ''}`.trim(), words.halves[type] ?? ''].join(' ').trim(),
  },
  { title: words.state, value: describeState, cell: (key) => <KeyState of={key} /> },
  { title: words.version, value: ({ version }) => version },
  { title: words.tags, value: ({ tags }) => tags },
  {
    title: words.created,
    value: (key) => key.created_at,
    cell: (key) => <Time at={key.created_at} isShort />,
  },
  {
    title: words.ends,
    value: (key) => key.deactivation_at,
    cell: ({ deactivation_at: at }) => (at === undefined ? '–' : <Time at={at} isShort />),
  },
  { title: words.lastUsed, value: (key) => key.last_used ?? texts.parts.never },
]
const ownerColumn: Column<Key> = { title: words.owner, value: ({ owner }) => owner }

/** Keys by the filters in the address, which are those of `warder keys list`. */
export function Room({ query }: RoomProps) {
  const isObtained = query.get('obtained') === 'true'
  const mayCreate = kms.useOperation('access.create', {}).data?.has_create_permission
  return (
    <>
      <RoomHeader
        title={words.title}
        actions={
          mayCreate && (
            <>
              <Link to="/ui/create-key" className="button primary">
                {words.create}
              </Link>
              <Link to="/ui/create-key?import=true" className="button">
                {words.import}
              </Link>
            </>
          )
        }
      >
        {words.description}
      </RoomHeader>
      <Find />
      <nav aria-label={words.scope} className="scopes">
        <Link to="/ui/keys" isCurrent={!isObtained}>
          {words.own}
        </Link>
        <Link to="/ui/keys?obtained=true" isCurrent={isObtained}>
          {words.obtained}
        </Link>
      </nav>
      {isObtained ? <ObtainedKeys /> : <OwnKeys filter={readFilter(query)} mayCreate={mayCreate === true} />}
    </>
  )
}

/** Opens a key by its identifier, that of a version, or an alias. */
function Find() {
  const find = useMutation({
    mutationFn: async (name: string) => {
      for (const kid of name.startsWith('alias/') ? [name] : [name, `alias/${name}`])
        try {
          return (await kms.client.call('crypto.keys.get', { path: { kid } })).kid
        } catch (error) {
          if (error instanceof ClientError && error.kind === 'forbidden') return kid
          if (!(error instanceof ClientError) || !['not_found', 'bad_request'].includes(error.kind))
            throw error
        }
      throw new ClientError({ kind: 'not_found', description: words.notThere(name) })
    },
    onSuccess: (kid) => navigate(toKeyPage(kid)),
  })
  return (
    <search className="find" aria-label={words.find}>
      <Form
        submit={words.findButton}
        error={find.error}
        isPending={find.isPending}
        onSubmit={({ kid = '' }) => find.mutate(kid.trim())}
      >
        <Field label={words.findLabel} name="kid" isRequired autoComplete="off" spellCheck="false" />
      </Form>
    </search>
  )
}

function OwnKeys({ filter, mayCreate }: { readonly filter: KeyFilter; readonly mayCreate: boolean }) {
  const input = { query: toQuery(filter, Date.now()) }
  const pages = kms.usePages('crypto.keys.list', input, ({ keys }) => keys)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  const shown = filter.owner === undefined ? columns : [...columns, ownerColumn]
  return (
    <>
      <Filters key={JSON.stringify(filter)} filter={filter} />
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && (
        <DataTable
          caption={words.caption}
          columns={shown}
          rows={rows}
          rowKey={({ kid }) => kid}
          command={toCommand(filter)}
          empty={<NoKeys isFiltered={Object.keys(filter).length > 0} mayCreate={mayCreate} />}
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
    </>
  )
}

function Filters({ filter }: { readonly filter: KeyFilter }) {
  const isOfficer = kms.useOperation('access.privileged', {}).data?.has_privileged_access === true
  const apply = (values: Readonly<Record<string, string>>): void => {
    const entries = Object.entries(values).filter(([, value]) => value.trim() !== '')
    navigate(`/ui/keys${entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`}`)
  }
  const labels = {
    ...{
      expiring: words.expiring,
      unused: words.unused,
      'not-rotated': words.notRotated,
      older: words.older,
    },
  }
  const isOpen = [...dayFilters, 'owner', 'type'].some(
    (name) => filter[name as keyof KeyFilter] !== undefined,
  )
  return (
    <FilterForm label={words.search} onApply={apply}>
      <Field label={words.tag} name="tag" defaultValue={filter.tag ?? ''} />
      <Field label={words.algorithmFilter} name="algorithm" defaultValue={filter.algorithm ?? ''} />
      <Choice
        label={words.state}
        name="state"
        value={filter.state ?? ''}
        options={[
          { value: '', text: words.anyState },
          ...Object.keys(stateFilters).map((name) => ({
            value: name,
            text: words.states[name as keyof typeof stateFilters],
          })),
        ]}
      />
      <details className="more-filters" open={isOpen}>
        <summary>{words.more}</summary>
        <div className="filter-grid">
          {dayFilters.map((name) => (
            <Field
              key={name}
              label={labels[name]}
              name={name}
              inputMode="numeric"
              pattern="[1-9][0-9]{0,4}"
              validate={(text) => (text === '' || /^[1-9]\d{0,4}$/.test(text) ? null : words.daysRule)}
              defaultValue={filter[name]?.replace('d', '') ?? ''}
            />
          ))}
          <Choice
            label={words.objectType}
            name="type"
            value={filter.type ?? ''}
            options={[
              { value: '', text: words.anyType },
              ...types.map((type) => ({ value: type, text: type })),
            ]}
          />
          {(isOfficer || filter.owner !== undefined) && (
            <Field label={words.ownerFilter} name="owner" defaultValue={filter.owner ?? ''} />
          )}
        </div>
      </details>
    </FilterForm>
  )
}

function NoKeys({ isFiltered, mayCreate }: { readonly isFiltered: boolean; readonly mayCreate: boolean }) {
  if (isFiltered)
    return (
      <Empty title={words.nothingFound}>
        <p>{words.nothingFoundHelp}</p>
      </Empty>
    )
  return (
    <Empty title={words.empty}>
      <p>{mayCreate ? words.emptyHelp : texts.newKey.notAllowedHelp}</p>
      {mayCreate && (
        <CodeBlock
          label={words.emptyHelp}
          samples={[{ title: texts.key.command, code: 'warder keys create --alg A256GCM' }]}
        />
      )}
    </Empty>
  )
}

const obtainedColumns: readonly Column<Obtained>[] = [
  {
    title: words.id,
    value: (row) => row.object_id,
    cell: ({ object_id: kid }) => (
      <Link to={toKeyPage(kid)}>
        <code>{kid}</code>
      </Link>
    ),
  },
  { title: words.owner, value: (row) => row.owner_id },
  { title: words.state, value: ({ state }) => state, cell: ({ state }) => <KeyState of={{ state }} /> },
  { title: words.rights, value: ({ operations }) => operations },
  { title: words.via, value: ({ via }) => via },
]

function ObtainedKeys() {
  const pages = kms.usePages('access.obtained', { query: { limit: '200' } }, (rows) => rows)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  return (
    <DataTable
      caption={words.captionObtained}
      columns={obtainedColumns}
      rows={rows}
      rowKey={(row) => row.object_id}
      command="warder keys list --obtained"
      empty={
        <Empty title={words.emptyObtained}>
          <p>{words.emptyObtainedHelp}</p>
          <CodeBlock
            label={words.emptyObtainedHelp}
            samples={[
              { title: texts.key.command, code: 'warder access grant KEY YOU encrypt decrypt getattributes' },
            ]}
          />
        </Empty>
      }
      loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
      isLoadingMore={isFetchingNextPage}
    />
  )
}
