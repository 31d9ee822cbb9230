import { auth } from '../../../api.ts'
import { Act, ActForm, CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { CopyButton } from '../../../parts/copy.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { formatSeconds } from '../realms/realm.ts'
import { type AppRole, AppRoleFields, readAppRole, toAppRoleOptions } from './approle-fields.tsx'
import { RoleFrame } from './frame.tsx'
import { isRoleName } from './role.tsx'
import { SecretIds } from './secret-ids.tsx'

const words = texts.machines

/** An AppRole: its RoleID, its limits and its SecretIDs. */
export function Room({ path }: RoomProps) {
  const name = path.name ?? ''
  const isValid = isRoleName(name)
  const role = auth.useOperation('approle.role.get', { path: { name } }, { enabled: isValid })
  return (
    <RoleFrame
      kind="approle"
      name={name}
      isValid={isValid}
      error={role.error}
      retry={() => void role.refetch()}
    >
      {role.data === undefined ? <Skeleton /> : <Detail name={name} role={role.data} />}
    </RoleFrame>
  )
}

function Detail({ name, role }: { readonly name: string; readonly role: AppRole }) {
  const id = auth.useOperation('approle.role.role_id', { path: { name } }).data?.data.role_id
  const { data } = role
  const seconds = (limit: number | undefined): string => (limit ? formatSeconds(limit) : words.noLimit)
  const facts: readonly (readonly [string, string])[] = [
    [words.realm, role.realm],
    [words.policies, data.token_policies.join(', ') || words.none],
    [words.tokens, seconds(data.token_ttl)],
    [words.tokensMax, seconds(data.token_max_ttl)],
    [words.usesOfToken, data.token_num_uses ? String(data.token_num_uses) : words.noLimit],
    [words.tokenFrom, data.token_bound_cidrs?.join(', ') || words.anywhere],
    [words.secretIdLife, data.bind_secret_id ? seconds(data.secret_id_ttl) : words.notNeeded],
    [words.usesOfSecretId, data.secret_id_num_uses ? String(data.secret_id_num_uses) : words.noLimit],
    [words.loginFrom, data.secret_id_bound_cidrs?.join(', ') || words.anywhere],
  ]
  return (
    <>
      <dl className="facts">
        <dt>{words.roleId}</dt>
        <dd className="actions">
          {id === undefined ? (
            '–'
          ) : (
            <>
              <code>{id}</code>
              <CopyButton text={id} label={words.copyRoleId} />
            </>
          )}
        </dd>
        {facts.map(([title, value]) => (
          <div key={title} className="fact">
            <dt>{title}</dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      <CommandCode command={toCommand('warder admin show-approle', [name])} />
      <SecretIds name={name} role={data} />
      <ChangeRole name={name} role={role} />
      <DeleteRole name={name} realm={role.realm} />
    </>
  )
}

function ChangeRole({ name, role }: { readonly name: string; readonly role: AppRole }) {
  const save = auth.useAct('approle.role.save')
  return (
    <Act title={words.change}>
      <ActForm
        submit={words.change}
        done={words.saved}
        command={(values) => toCommand('warder admin change-approle', [name], toAppRoleOptions(values))}
        act={(values) => save.mutateAsync({ path: { name }, body: readAppRole(values) })}
      >
        <p className="quiet">{words.changeHelp}</p>
        <AppRoleFields role={role.data} />
      </ActForm>
    </Act>
  )
}

function DeleteRole({ name, realm }: { readonly name: string; readonly realm: string }) {
  const remove = auth.useAct('approle.role.delete')
  return (
    <Confirm
      verb={words.delete}
      title={words.deleteTitle(name, realm)}
      onConfirm={async () => {
        await remove.mutateAsync({ path: { name } })
        navigate('/ui/machines', { replace: true })
        showToast(words.deleted)
      }}
    >
      <ul>
        <li>{words.endsSecretIds}</li>
        <li>{words.endsTokens}</li>
      </ul>
      <p>{words.keysStay}</p>
      <CommandCode command={toCommand('warder admin delete-approle', [name])} />
    </Confirm>
  )
}
