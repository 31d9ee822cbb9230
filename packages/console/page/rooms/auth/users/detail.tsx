import { ClientError } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { RealmFrame } from '../realms/frame.tsx'
import { ChangeUser, ResetPassword } from './change.tsx'
import { EndPerson } from './end-person.tsx'
import { Passkeys } from './passkeys.tsx'
import { SecondFactor } from './second-factor.tsx'
import { SessionTable } from './sessions.tsx'

const words = texts.user

/** One user of a realm, with any login method. */
export function Room({ path, query }: RoomProps) {
  const name = query.get('name') ?? ''
  return (
    <RealmFrame path={path} view="users" title={words.title(name, path.realm ?? '')}>
      {({ id }) =>
        isUsername(name) ? <Person key={name} realm={id} name={name} /> : <Missing name={name} />
      }
    </RealmFrame>
  )
}

/** `.` and `..` are no names: they would be another path. */
const isUsername = (name: string): boolean => !/^\.{0,2}$/.test(name)

function Missing({ name }: { readonly name: string }) {
  return (
    <p className="notice">
      <bdi>{words.missing(name)}</bdi>
    </p>
  )
}

/** Releases a name from the identity provider that it is bound to. */
function ReleaseName({ realm, name }: { readonly realm: string; readonly name: string }) {
  const release = auth.useAct('jwt_subjects.release')
  return (
    <Confirm
      verb={words.release}
      title={words.releaseTitle(name)}
      onConfirm={async () => {
        await release.mutateAsync({ path: { realm_id: realm, subject: name } })
        showToast(words.released)
      }}
    >
      <p>{words.releaseEnds}</p>
      <CommandCode command={toCommand('warder admin release-jwt-subject', [name], { realm })} />
    </Confirm>
  )
}

function Person({ realm, name }: { readonly realm: string; readonly name: string }) {
  const path = { realm_id: realm, username: name }
  const { data: use, error, refetch } = auth.useOperation('persons.get', { path })
  const credential = auth.useOperation('credentials.get', { path }, { enabled: use?.password === true })
  if (error instanceof ClientError && error.status === 404)
    return (
      <>
        <Missing name={name} />
        <p className="quiet">{words.missingHelp}</p>
      </>
    )
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  if (use === undefined) return <Skeleton />
  const ways = [
    ...(use.password ? [words.byPassword] : []),
    ...(use.provider ? [words.byProvider] : []),
    ...(use.password || use.provider ? [] : [words.byOther]),
  ]
  const user = use.password ? credential.data : undefined
  const claims = Object.entries(user?.extra_claims ?? {})
  return (
    <>
      <dl className="facts">
        <dt>{words.loginBy}</dt>
        <dd>{ways.join(', ')}</dd>
        <dt>{words.used}</dt>
        <dd>{use.person ? words.hasLoggedIn : words.neverLoggedIn}</dd>
        <dt>{words.factors}</dt>
        <dd>{words.factorsOf(use.totp, use.passkeys, use.recovery_codes)}</dd>
        {user !== undefined && (
          <>
            <dt>{words.password}</dt>
            <dd>{user.change_password ? texts.users.mustChange : texts.users.set}</dd>
            <dt>{texts.users.roles}</dt>
            <dd>
              <bdi>{user.roles.join(', ') || words.none}</bdi>
            </dd>
          </>
        )}
        {claims.length > 0 && (
          <>
            <dt>{texts.users.claims}</dt>
            <dd>
              <bdi>{JSON.stringify(user?.extra_claims)}</bdi>
            </dd>
          </>
        )}
      </dl>
      <CommandCode command={toCommand('warder admin show-user', [name], { realm })} />
      {credential.error !== null && <Failure error={credential.error} />}
      {user !== undefined && <ResetPassword user={user} />}
      {user !== undefined && <ChangeUser user={user} />}
      <SecondFactor realm={realm} name={name} />
      <Passkeys realm={realm} name={name} />
      <section className="part" aria-labelledby="sessions">
        <h2 id="sessions">{words.sessions}</h2>
        <SessionTable realm={realm} username={name} />
      </section>
      {use.provider && <ReleaseName realm={realm} name={name} />}
      <EndPerson realm={realm} name={name} use={use} />
    </>
  )
}
