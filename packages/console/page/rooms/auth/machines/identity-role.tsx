import { auth } from '../../../api.ts'
import { Act, ActForm, CommandCode } from '../../../parts/act-form.tsx'
import { toCurlJson } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { toCurl } from '../../../parts/table-text.ts'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { formatSeconds } from '../realms/realm.ts'
import { RoleFrame } from './frame.tsx'
import { type IdentityRole, IdentityRoleFields, isRoleName, readIdentityRole } from './role.tsx'

const words = texts.machines

/** A role for workloads of Kubernetes or of another orchestrator, which log in with tokens of their platform. */
export function Room({ path }: RoomProps) {
  const name = path.name ?? ''
  const isValid = isRoleName(name)
  const { data, error, refetch } = auth.useOperation(
    'kubernetes.role.get',
    { path: { name } },
    { enabled: isValid },
  )
  return (
    <RoleFrame kind="kubernetes" name={name} isValid={isValid} error={error} retry={() => void refetch()}>
      {data === undefined ? <Skeleton /> : <Detail name={name} role={data.data} />}
    </RoleFrame>
  )
}

interface DetailProps {
  readonly name: string
  readonly role: IdentityRole
}

function Detail({ name, role }: DetailProps) {
  const save = auth.useAct('kubernetes.role.save')
  const remove = auth.useAct('kubernetes.role.delete')
  const address = `/auth/kubernetes/role/${encodeURIComponent(name)}`
  const list = (names: readonly string[] | undefined): string => names?.join(', ') || words.any
  const facts: readonly (readonly [string, string])[] = [
    [words.keys, role.jwks_url],
    [words.accounts, list(role.bound_service_account_names)],
    [words.namespaces, list(role.bound_service_account_namespaces)],
    [words.issuer, role.expected_issuer || words.notChecked],
    [words.audiences, role.bound_audiences?.join(', ') || words.notChecked],
    [words.policies, role.token_policies?.join(', ') || words.none],
    [words.tokens, formatSeconds(role.token_ttl)],
    [words.tokensMax, role.token_max_ttl ? formatSeconds(role.token_max_ttl) : words.noLimit],
    [words.usesOfToken, role.token_num_uses ? String(role.token_num_uses) : words.noLimit],
    [words.tokenFrom, role.token_bound_cidrs?.join(', ') || words.anywhere],
  ]
  return (
    <>
      <dl className="facts">
        {facts.map(([title, value]) => (
          <div key={title} className="fact">
            <dt>{title}</dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      <CommandCode command={toCurl(address)} />
      <Act title={words.change}>
        <ActForm
          submit={words.change}
          done={words.saved}
          command={(values) => toCurlJson(address, readIdentityRole(values))}
          act={(values) => save.mutateAsync({ path: { name }, body: readIdentityRole(values) })}
        >
          <IdentityRoleFields role={role} />
        </ActForm>
      </Act>
      <Confirm
        verb={words.delete}
        title={words.deleteIdentityTitle(words.kindNames.kubernetes, name)}
        onConfirm={async () => {
          await remove.mutateAsync({ path: { name } })
          navigate('/ui/machines', { replace: true })
          showToast(words.deleted)
        }}
      >
        <p>{words.endsTokens}</p>
        <p>{words.keysStay}</p>
        <CommandCode command={`${toCurl(address)} -X DELETE`} />
      </Confirm>
    </>
  )
}
