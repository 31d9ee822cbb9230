import { ClientError } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act, ActForm, CommandCode, type Values } from '../../../parts/act-form.tsx'
import { readWords, toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Link } from '../../../parts/link.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import {
  type Admin,
  formatRealms,
  formatUsers,
  identityNames,
  readIdentities,
  toIdentityOptions,
} from './admin.ts'
import { IdentityFields, RealmsField } from './fields.tsx'

const words = texts.admins

/** An administrator: realms and users. */
export function Room({ query }: RoomProps) {
  const id = query.get('id') ?? ''
  const isValid = !/^\.{0,2}$/.test(id)
  const { data, error, refetch } = auth.useOperation(
    'admins.get',
    { path: { admin_id: id } },
    { enabled: isValid },
  )
  const isMissing = !isValid || (error instanceof ClientError && error.status === 404)
  return (
    <>
      <RoomHeader title={words.detailTitle(id)} />
      <p>
        <Link to="/ui/admins">{words.toList}</Link>
      </p>
      {isMissing ? (
        <p className="notice danger" role="alert">
          <bdi>{words.missing(id)}</bdi>
        </p>
      ) : error !== null ? (
        <Refusal error={error} retry={() => void refetch()} needs={words.needsRealms} />
      ) : data === undefined ? (
        <Skeleton />
      ) : (
        <Detail admin={data} />
      )}
    </>
  )
}

function Detail({ admin }: { readonly admin: Admin }) {
  const { id } = admin
  const facts: readonly (readonly [string, string])[] = [
    [words.realms, formatRealms(admin)],
    [words.user, formatUsers(admin) || words.noUser],
    [words.secondFactor, admin.totp_enabled ? words.totp : words.noFactor],
  ]
  return (
    <>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      <CommandCode command={toCommand('warder admin show-admin', [id])} />
      <ChangeAdmin admin={admin} />
      <DeleteAdmin admin={admin} />
    </>
  )
}

function ChangeAdmin({ admin }: { readonly admin: Admin }) {
  const replace = auth.useAct('admins.replace')
  const warn = (values: Values) => {
    const next = readWords(values.realms)
    const gone = admin.realms.filter((realm) => !next.includes(realm))
    const given = readIdentities(values)
    const left = identityNames.filter((name) => admin[name] !== null && given[name] !== admin[name])
    if (gone.length + left.length === 0) return undefined
    return {
      verb: words.change,
      title: words.changeTitle(admin.id),
      children: (
        <ul>
          {gone.map((realm) => (
            <li key={realm}>{words.realmEnds(realm)}</li>
          ))}
          {left.map((name) => (
            <li key={name}>
              <bdi>{words.userEnds(`${words.identities[name]} ${admin[name]}`)}</bdi>
            </li>
          ))}
        </ul>
      ),
    }
  }
  return (
    <Act title={words.change}>
      <ActForm
        submit={words.change}
        done={words.changed}
        warn={warn}
        command={(values) => {
          const next = readWords(values.realms)
          return toCommand('warder admin change-admin', [admin.id], {
            'add-realm': next.filter((realm) => !admin.realms.includes(realm)),
            'remove-realm': admin.realms.filter((realm) => !next.includes(realm)),
            ...toIdentityOptions(values, admin),
          })
        }}
        act={(values) =>
          replace.mutateAsync({
            path: { admin_id: admin.id },
            body: {
              realms: readWords(values.realms),
              digital_credentials: admin.digital_credentials,
              ...readIdentities(values),
            },
          })
        }
      >
        <p className="quiet">{words.changeHelp}</p>
        <RealmsField realms={admin.realms} />
        <IdentityFields admin={admin} />
      </ActForm>
    </Act>
  )
}

function DeleteAdmin({ admin }: { readonly admin: Admin }) {
  const remove = auth.useAct('admins.delete')
  const { id } = admin
  return (
    <Confirm
      verb={words.delete}
      title={words.deleteTitle(id)}
      onConfirm={async () => {
        await remove.mutateAsync({ path: { admin_id: id } })
        navigate('/ui/admins', { replace: true })
        showToast(words.deleted)
      }}
    >
      <p>
        <bdi>{words.deleteEnds(formatUsers(admin) || words.noUser, formatRealms(admin))}</bdi>
      </p>
      <CommandCode command={toCommand('warder admin delete-admin', [id])} />
    </Confirm>
  )
}
