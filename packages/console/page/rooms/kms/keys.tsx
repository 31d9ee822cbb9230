import type { Reply } from '@warder/client/browser'
import { kms } from '../../api.ts'
import { Failure } from '../../frame/errors.tsx'
import { RoomHeader } from '../../frame/room-header.tsx'
import { navigate } from '../../frame/router.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Choice, Field, Form } from '../../parts/field.tsx'
import { Status } from '../../parts/status.tsx'
import { quoteShell } from '../../parts/table-text.ts'
import { Time } from '../../parts/time.tsx'
import type { RoomProps } from '../../room.ts'
import { texts } from '../../texts.ts'

const words = texts.keys
type Key = Reply<'crypto.keys.list'>['keys'][number]

const states = [
  'PreActive',
  'Active',
  'Deactivated',
  'Compromised',
  'Destroyed',
  'Destroyed_Compromised',
] as const
const stateKinds: Readonly<Record<string, 'good' | 'warning' | 'danger' | 'neutral'>> = {
  ...{ Active: 'good', Deactivated: 'warning', Compromised: 'danger' },
}

const columns: readonly Column<Key>[] = [
  { title: words.id, value: ({ kid }) => kid, cell: ({ kid }) => <code>{kid}</code> },
  { title: words.name, value: ({ name, aliases }) => name ?? aliases[0] },
  {
    title: words.type,
    value: ({ alg, algorithm, kty, bits }) => [alg ?? algorithm ?? kty, String(bits ?? '')],
  },
  {
    title: words.state,
    value: ({ state }) => state,
    cell: ({ state }) => <Status kind={stateKinds[state] ?? 'neutral'}>{state}</Status>,
  },
  { title: words.version, value: ({ version }) => version },
  { title: words.tags, value: ({ tags }) => tags },
  {
    title: words.created,
    value: (key) => key.created_at,
    cell: (key) => <Time at={key.created_at} isShort />,
  },
  {
    title: words.lastUsed,
    value: (key) => key.last_used,
    cell: (key) => key.last_used ?? texts.parts.never,
  },
]

/** Keys of the user, by the filters in the address. */
export function Room({ query }: RoomProps) {
  const filter = readFilter(query)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'crypto.keys.list',
    { query: { excluded_type: 'Certificate', ...filter } },
    ({ keys }) => keys,
  )
  const options = Object.entries(filter).flatMap(([name, value]) => [`--${name}`, quoteShell(value)])
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      <Filters key={query.toString()} filter={filter} />
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && (
        <DataTable
          caption={words.caption}
          columns={columns}
          rows={rows}
          rowKey={({ kid }) => kid}
          command={['warder keys list', ...options].join(' ')}
          empty={<NoKeys isFiltered={options.length > 0} />}
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
    </>
  )
}

type Filter = Readonly<{ tag?: string; state?: (typeof states)[number]; algorithm?: string }>

/** Other parameters and unknown states are not for the service. */
function readFilter(query: URLSearchParams): Filter {
  const state = states.find((each) => each === query.get('state'))
  const [tag, algorithm] = [query.get('tag') || undefined, query.get('algorithm') || undefined]
  return {
    ...(tag !== undefined && { tag }),
    ...(state !== undefined && { state }),
    ...(algorithm !== undefined && { algorithm }),
  }
}

function Filters({ filter }: { readonly filter: Filter }) {
  const apply = (values: Readonly<Record<string, string>>): void => {
    const given = Object.entries(values).filter(([, value]) => value !== '')
    navigate(`/ui/keys${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`)
  }
  return (
    <search className="filters" aria-label={words.search}>
      <Form
        submit={words.apply}
        onSubmit={apply}
        actions={
          <button type="button" className="button" onClick={() => apply({})}>
            {words.clear}
          </button>
        }
      >
        <Field label={words.tag} name="tag" defaultValue={filter.tag ?? ''} />
        <Field label={words.algorithm} name="algorithm" defaultValue={filter.algorithm ?? ''} />
        <Choice
          label={words.state}
          name="state"
          value={filter.state ?? ''}
          options={[
            { value: '', text: words.anyState },
            ...states.map((state) => ({ value: state, text: state })),
          ]}
        />
      </Form>
    </search>
  )
}

function NoKeys({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty title={words.nothingFound}>
        <p>{words.nothingFoundHelp}</p>
      </Empty>
    )
  return (
    <Empty title={words.empty}>
      <p>{words.emptyHelp}</p>
      <CodeBlock
        label={words.emptyHelp}
        samples={[{ title: 'Command', code: 'warder keys create --alg A256GCM' }]}
      />
    </Empty>
  )
}
