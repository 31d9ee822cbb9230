import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { Act, ActForm, type Values } from '../../../parts/act-form.tsx'
import { readWords, toCommand } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Check, Choice, Field, Form } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { RealmFrame } from '../realms/frame.tsx'
import { listMethods, type Realm, readParams, toUserPath } from '../realms/realm.ts'
import { choosePassword, PasswordField } from './new-password.tsx'

const words = texts.users
type User = AuthReply<'credentials.list'>[number]
type Subject = AuthReply<'jwt_subjects.list'>[number]

/** Users of a realm. */
export function Room({ path }: RoomProps) {
  return (
    <RealmFrame path={path} view="users">
      {(realm) => (
        <>
          <Registered realm={realm} />
          <AddUser realm={realm} />
          {listMethods(realm).includes('jwt') && (
            <>
              <Subjects realm={realm} />
              <AssignSubject realm={realm} />
            </>
          )}
          <OtherUser realm={realm} />
        </>
      )}
    </RealmFrame>
  )
}

function NameLink({ realm, name }: { readonly realm: string; readonly name: string }) {
  return (
    <Link to={toUserPath(realm, name)}>
      <bdi>{name}</bdi>
    </Link>
  )
}

const userColumns: readonly Column<User>[] = [
  {
    title: words.user,
    value: ({ username }) => username,
    cell: ({ realm, username }) => <NameLink realm={realm} name={username} />,
  },
  { title: words.roles, value: ({ roles }) => roles },
  {
    title: words.password,
    value: (user) => (user.change_password ? words.mustChange : words.set),
    cell: (user) => (
      <Status kind={user.change_password ? 'warning' : 'good'}>
        {user.change_password ? words.mustChange : words.set}
      </Status>
    ),
  },
  { title: words.claims, value: (user) => Object.keys(user.extra_claims ?? {}) },
]

function Registered({ realm }: { readonly realm: Realm }) {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = auth.usePages(
    'credentials.list',
    { path: { realm_id: realm.id } },
    (users) => users,
  )
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  return (
    <DataTable
      caption={words.caption(realm.id)}
      columns={userColumns}
      rows={rows}
      rowKey={({ username }) => username}
      command={toCommand('warder admin users', [], { realm: realm.id })}
      empty={
        <Empty title={words.empty}>
          <p>{words.emptyHelp}</p>
        </Empty>
      }
      loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
      isLoadingMore={isFetchingNextPage}
    />
  )
}

function AddUser({ realm }: { readonly realm: Realm }) {
  const create = auth.useAct('credentials.create')
  const [made, show] = useShownOnce<{ readonly name: string; readonly password: string }>()
  const act = async (values: Values): Promise<void> => {
    const { username = '' } = values
    const password = choosePassword(values)
    await create.mutateAsync({
      path: { realm_id: realm.id },
      body: {
        username,
        roles: readWords(values.roles),
        change_password: values.change === 'yes',
        password_input: { plaintext: password.text },
      },
    })
    show(password.isRandom ? { name: username, password: password.text } : undefined)
  }
  return (
    <>
      {made !== undefined && <Secret label={words.passwordOf(made.name)} value={made.password} />}
      <Act title={words.add}>
        <ActForm
          submit={words.add}
          done={words.added}
          command={({ username = '', roles, change }) =>
            toCommand('warder admin add-user', [username || 'NAME'], {
              realm: realm.id,
              role: readWords(roles),
              'keep-password': change !== 'yes',
            })
          }
          act={act}
        >
          <Field label={words.user} name="username" isRequired autoComplete="off" />
          <PasswordField />
          <Check name="change" label={words.change} isSelected />
          <Field label={words.roles} name="roles" help={words.rolesHelp} />
        </ActForm>
      </Act>
    </>
  )
}

const subjectColumns: readonly Column<Subject>[] = [
  { title: words.issuer, value: (row) => row.jwt_issuer_uri },
  { title: words.how, value: ({ assigned }) => (assigned ? words.assigned : words.firstLogin) },
  {
    title: words.since,
    value: (row) => new Date(row.created_at * 1000).toISOString(),
    cell: (row) => <Time at={row.created_at * 1000} isShort />,
  },
]

function Subjects({ realm }: { readonly realm: Realm }) {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = auth.usePages(
    'jwt_subjects.list',
    { path: { realm_id: realm.id } },
    (subjects) => subjects,
  )
  const name: Column<Subject> = {
    title: words.user,
    value: ({ subject }) => subject,
    cell: ({ subject }) => <NameLink realm={realm.id} name={subject} />,
  }
  return (
    <div className="part">
      <h2>{words.subjects}</h2>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && (
        <DataTable
          caption={words.subjects}
          columns={[name, ...subjectColumns]}
          rows={rows}
          rowKey={({ subject }) => subject}
          command={toCommand('warder admin jwt-subjects', [], { realm: realm.id })}
          empty={<p className="quiet">{words.noSubjects}</p>}
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
    </div>
  )
}

/** Binds a name to one of the identity providers before its first login, or to another one. */
function AssignSubject({ realm }: { readonly realm: Realm }) {
  const assign = auth.useAct('jwt_subjects.assign')
  const providers = readParams(realm).jwt_params?.idp_params ?? []
  return (
    <Act title={words.assign}>
      <ActForm
        submit={words.assign}
        done={words.assignedNow}
        warn={({ name = '', issuer = '' }) => ({
          verb: words.assign,
          title: words.assignTitle(name, issuer),
          children: <p>{words.assignEnds}</p>,
        })}
        command={({ name = '', issuer = '' }) =>
          toCommand('warder admin assign-jwt-subject', [name || 'NAME'], { realm: realm.id, issuer })
        }
        act={({ name = '', issuer = '' }) =>
          assign.mutateAsync({
            path: { realm_id: realm.id, subject: name },
            body: { jwt_issuer_uri: issuer },
          })
        }
      >
        <Field label={words.subject} name="name" help={words.subjectHelp} isRequired autoComplete="off" />
        <Choice
          label={words.issuer}
          name="issuer"
          options={providers.map(({ jwt_issuer_uri: uri }) => ({ value: uri, text: uri }))}
        />
      </ActForm>
    </Act>
  )
}

/** Users of SAML and of certificates are in no list until they have a session. */
function OtherUser({ realm }: { readonly realm: Realm }) {
  return (
    <section className="part" aria-labelledby="other-user">
      <h2 id="other-user">{words.other}</h2>
      <p className="quiet">{words.otherHelp}</p>
      <search className="filters" aria-label={words.other}>
        <Form submit={words.open} onSubmit={({ name = '' }) => navigate(toUserPath(realm.id, name))}>
          <Field label={words.name} name="name" isRequired autoComplete="off" />
        </Form>
      </search>
    </section>
  )
}
