import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act, ActForm, type Values } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Field } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { texts } from '../../../texts.ts'
import { useIsSuper } from './frame.tsx'
import { formatMethods, formatSeconds, isRealmId, type Realm, toRealmPath } from './realm.ts'
import { AgeFields, readAges, readMethods, SimpleMethods, toOptions } from './settings-fields.tsx'

const words = texts.realms

const columns: readonly Column<Realm>[] = [
  {
    title: words.realm,
    value: ({ id }) => id,
    cell: ({ id }) => (
      <Link to={toRealmPath(id)}>
        <bdi>{id}</bdi>
      </Link>
    ),
  },
  { title: words.loginBy, value: (realm) => formatMethods(realm) },
  {
    title: words.session,
    value: (realm) => realm.session_max_age_seconds,
    cell: (realm) => formatSeconds(realm.session_max_age_seconds),
  },
  {
    title: words.idle,
    value: (realm) => realm.session_max_stale_age_seconds,
    cell: (realm) => formatSeconds(realm.session_max_stale_age_seconds),
  },
  {
    title: words.people,
    value: () => undefined,
    cell: ({ id }) => (
      <span className="actions">
        <Link to={toRealmPath(id, 'users')}>{words.views.users}</Link>
        <Link to={toRealmPath(id, 'sessions')}>{words.views.sessions}</Link>
      </span>
    ),
  },
]

/** Realms that the user administers. */
export function Room() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = auth.usePages(
    'realms.list',
    {},
    (realms) => realms,
  )
  const isSuper = useIsSuper()
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      {error !== null && (
        <Refusal error={error} retry={() => void refetch()} needs={texts.admins.needsAdmin} />
      )}
      {error === null && (
        <DataTable
          caption={words.caption}
          columns={columns}
          rows={rows}
          rowKey={({ id }) => id}
          command="warder admin realms"
          empty={
            <Empty title={words.empty}>
              <p>{words.emptyHelp}</p>
            </Empty>
          }
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
      {isSuper && <CreateRealm />}
    </>
  )
}

function CreateRealm() {
  const create = auth.useAct('realms.create')
  const toBody = (values: Values) => ({
    id: values.id ?? '',
    auth_params: readMethods(values, undefined),
    ...readAges(values),
  })
  return (
    <Act title={words.create}>
      <ActForm
        submit={words.create}
        command={(values) =>
          toCommand('warder admin create-realm', [values.id || 'REALM'], toOptions(values))
        }
        done={words.created}
        act={(values) => create.mutateAsync({ body: toBody(values) })}
      >
        <Field
          label={words.realm}
          name="id"
          isRequired
          help={words.idRule}
          validate={(id) => (isRealmId(id) ? null : words.idRule)}
        />
        <SimpleMethods selected={['password']} />
        <AgeFields />
      </ActForm>
    </Act>
  )
}
