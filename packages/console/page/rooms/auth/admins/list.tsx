import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act, ActForm, type Values } from '../../../parts/act-form.tsx'
import { readWords, toCommand } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { navigate } from '../../../parts/router.ts'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { texts } from '../../../texts.ts'
import { useIsSuper } from '../realms/frame.tsx'
import { superRealm } from '../realms/realm.ts'
import { choosePassword } from '../users/new-password.tsx'
import {
  type Admin,
  formatRealms,
  formatUsers,
  readIdentities,
  toAdminPath,
  toIdentityOptions,
} from './admin.ts'
import { IdentityFields, RealmsField } from './fields.tsx'

const words = texts.admins

const columns: readonly Column<Admin>[] = [
  {
    title: words.admin,
    value: ({ id }) => id,
    cell: ({ id }) => (
      <Link to={toAdminPath(id)}>
        <bdi>{id}</bdi>
      </Link>
    ),
  },
  { title: words.realms, value: formatRealms },
  { title: words.user, value: (admin) => formatUsers(admin) || words.noUser },
  { title: words.secondFactor, value: (admin) => (admin.totp_enabled ? words.totp : words.noFactor) },
]

/** Administrators: users with power over realms. */
export function Room() {
  const isSuper = useIsSuper()
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      <List />
      {!isSuper && <OpenAdmin />}
      <AddAdmin />
    </>
  )
}

function List() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = auth.usePages(
    'admins.list',
    {},
    (admins) => admins,
  )
  if (error !== null)
    return <Refusal error={error} retry={() => void refetch()} needs={words.listNeedsSuper} />
  return (
    <DataTable
      caption={words.caption}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      command="warder admin admins"
      empty={<p className="quiet">{words.empty}</p>}
      loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
      isLoadingMore={isFetchingNextPage}
    />
  )
}

/** An administrator of a realm sees those of own realms by name only. */
function OpenAdmin() {
  return (
    <search className="filters" aria-label={words.open}>
      <Form submit={words.open} onSubmit={({ id = '' }) => navigate(toAdminPath(id))}>
        <Field label={words.admin} name="id" isRequired autoComplete="off" />
      </Form>
    </search>
  )
}

function AddAdmin() {
  const create = auth.useAct('admins.create')
  const createUser = auth.useAct('credentials.create')
  const deleteUser = auth.useAct('credentials.delete')
  const [made, show] = useShownOnce<{ readonly name: string; readonly password: string }>()
  const act = async (values: Values): Promise<void> => {
    const { id = '' } = values
    const realms = readWords(values.realms)
    const isNewUser = Object.keys(toIdentityOptions(values)).length === 0
    show(undefined)
    if (!isNewUser) {
      await create.mutateAsync({ body: { id, realms, ...readIdentities(values) } })
      return
    }
    const password = choosePassword({})
    await createUser.mutateAsync({
      path: { realm_id: superRealm },
      body: { username: id, roles: [], change_password: true, password_input: { plaintext: password.text } },
    })
    try {
      await create.mutateAsync({ body: { id, realms, userpass: id } })
    } catch (error) {
      // Without the record the user has no power, so it is deleted, and the form can be sent again.
      await deleteUser.mutateAsync({ path: { realm_id: superRealm, username: id } }).catch(() => undefined)
      throw error
    }
    show({ name: id, password: password.text })
  }
  return (
    <>
      {made !== undefined && <Secret label={texts.users.passwordOf(made.name)} value={made.password} />}
      <Act title={words.add}>
        <ActForm
          submit={words.add}
          done={words.added}
          command={(values) =>
            toCommand('warder admin add-admin', [values.id || 'ID'], {
              realm: readWords(values.realms),
              ...toIdentityOptions(values),
            })
          }
          act={act}
        >
          <p className="quiet">{words.addHelp}</p>
          <Field label={words.admin} name="id" isRequired autoComplete="off" />
          <RealmsField />
          <IdentityFields />
        </ActForm>
      </Act>
    </>
  )
}
