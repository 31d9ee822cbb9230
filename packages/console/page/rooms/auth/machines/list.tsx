import { ClientError } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useMe } from '../../../frame/session.ts'
import { Act, ActForm } from '../../../parts/act-form.tsx'
import { toCommand, toCurlJson } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Field } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { navigate } from '../../../parts/router.ts'
import { toCurl } from '../../../parts/table-text.ts'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { AppRoleFields, readAppRole, toAppRoleOptions } from './approle-fields.tsx'
import { IdentityRoleFields, isRoleName, type Kind, readIdentityRole, toRolePath } from './role.tsx'

const words = texts.machines

/** Roles of machines that the user administers. */
export function Room({ query }: RoomProps) {
  const realm = query.get('realm') ?? undefined
  const filter = realm === undefined ? {} : { realm }
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      <AppRoles filter={filter} />
      <IdentityRoles filter={filter} />
    </>
  )
}

type Filter = Readonly<{ realm?: string }>

/** The realm of a new role. */
function RealmField() {
  const realms = useMe('auth').data?.administers ?? []
  return (
    <Field
      label={words.realm}
      name="realm"
      isRequired
      help={words.realmHelp}
      defaultValue={realms.length === 1 ? (realms[0] ?? '') : ''}
    />
  )
}

const NameField = () => (
  <Field
    label={words.role}
    name="name"
    isRequired
    help={words.nameRule}
    validate={(name) => (isRoleName(name) ? null : words.nameRule)}
    autoComplete="off"
  />
)

function toColumns(kind: Kind): readonly Column<string>[] {
  return [
    {
      title: words.role,
      value: (name) => name,
      cell: (name) => (
        <Link to={toRolePath(kind, name)}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
  ]
}

function AppRoles({ filter }: { readonly filter: Filter }) {
  const { data, error, refetch } = auth.useOperation('approle.role.list', {
    query: { list: 'true', ...filter },
  })
  const save = auth.useAct('approle.role.save')
  return (
    <div className="part">
      <h2>{words.kinds.approle}</h2>
      {error !== null && (
        <Refusal error={error} retry={() => void refetch()} needs={texts.admins.needsAdmin} />
      )}
      {error === null && (
        <>
          <DataTable
            caption={words.kinds.approle}
            columns={toColumns('approle')}
            rows={data?.data.keys}
            rowKey={(name) => name}
            command="warder admin approles"
            empty={<p className="quiet">{words.noAppRoles}</p>}
          />
          <Act title={words.addAppRole}>
            <ActForm
              submit={words.addAppRole}
              done={words.saved}
              command={(values) =>
                toCommand('warder admin add-approle', [values.name || 'NAME'], {
                  realm: values.realm || 'REALM',
                  policy: toAppRoleOptions(values).policy,
                  'token-ttl': values['token-ttl'],
                  'secret-id-ttl': values['secret-id-ttl'],
                })
              }
              act={async (values) => {
                const { name = '', realm = '' } = values
                await requireNewRole('approle', name)
                await save.mutateAsync({ path: { name }, query: { realm }, body: readAppRole(values) })
                navigate(toRolePath('approle', name))
              }}
            >
              <p className="quiet">{words.addAppRoleHelp}</p>
              <NameField />
              <RealmField />
              <AppRoleFields />
            </ActForm>
          </Act>
        </>
      )}
    </div>
  )
}

/** Saving a role that exists would change it. */
async function requireNewRole(kind: Kind, name: string): Promise<void> {
  const { data } = await auth.client.call(`${kind}.role.list`, { query: { list: 'true' } })
  if (data.keys.includes(name))
    throw new ClientError({ kind: 'conflict', status: 409, description: words.exists(name) })
}

function IdentityRoles({ filter }: { readonly filter: Filter }) {
  const { data, error, refetch } = auth.useOperation('kubernetes.role.list', {
    query: { list: 'true', ...filter },
  })
  const save = auth.useAct('kubernetes.role.save')
  const address = '/auth/kubernetes/role'
  return (
    <div className="part">
      <h2>{words.kinds.kubernetes}</h2>
      <p className="quiet">{words.kubernetesHelp}</p>
      {error !== null && (
        <Refusal error={error} retry={() => void refetch()} needs={texts.admins.needsAdmin} />
      )}
      {error === null && (
        <>
          <DataTable
            caption={words.kinds.kubernetes}
            columns={toColumns('kubernetes')}
            rows={data?.data.keys}
            rowKey={(name) => name}
            command={toCurl(`${address}?list=true`)}
            empty={<p className="quiet">{words.noRoles}</p>}
          />
          <Act title={words.addKubernetesRole}>
            <ActForm
              submit={words.addKubernetesRole}
              done={words.saved}
              command={(values) =>
                toCurlJson(
                  `${address}/${values.name || 'NAME'}?realm=${values.realm || 'REALM'}`,
                  readIdentityRole(values),
                )
              }
              act={async (values) => {
                const { name = '', realm = '' } = values
                await requireNewRole('kubernetes', name)
                await save.mutateAsync({ path: { name }, query: { realm }, body: readIdentityRole(values) })
                navigate(toRolePath('kubernetes', name))
              }}
            >
              <NameField />
              <RealmField />
              <IdentityRoleFields />
            </ActForm>
          </Act>
        </>
      )}
    </div>
  )
}
