import type { AuthInput, AuthReply } from '@warder/client/browser'
import type { Values } from '../../../parts/act-form.tsx'
import { readWords } from '../../../parts/command.ts'
import { Field } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'

const words = texts.machines

export type Kind = 'approle' | 'kubernetes'
export type IdentityRole = AuthReply<'kubernetes.role.get'>['data']

/** The name of a role, which is a segment of addresses. */
export const isRoleName = (name: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(name)
export const toRolePath = (kind: Kind, name: string): string =>
  `/ui/machines/${kind}/${encodeURIComponent(name)}`

export const isCount = (text: string): string | null => (/^\d{0,10}$/.test(text) ? null : words.countRule)

/** A whole number in a form; an empty field: 0, without limit. */
export const readCount = (text: string | undefined): number => Number(text || '0')

/** Limits of tokens that all kinds of roles have. */
export function TokenFields(props: {
  readonly role?: {
    readonly token_policies?: readonly string[]
    readonly token_ttl: number
    readonly token_max_ttl?: number
    readonly token_num_uses?: number
    readonly token_bound_cidrs?: readonly string[]
  }
}) {
  const { role } = props
  const count = (name: string, label: string, value: number | undefined) => (
    <Field
      label={label}
      name={name}
      inputMode="numeric"
      defaultValue={value === undefined ? '' : String(value)}
      validate={isCount}
    />
  )
  return (
    <>
      <Field
        label={words.policies}
        name="policies"
        help={words.policiesHelp}
        defaultValue={role?.token_policies?.join(', ') ?? ''}
      />
      {count('token-ttl', words.tokenSeconds, role?.token_ttl ?? 3600)}
      {count('token-max-ttl', words.tokenMaxSeconds, role?.token_max_ttl)}
      {count('token-uses', words.tokenUses, role?.token_num_uses)}
      <Field
        label={words.tokenFrom}
        name="token-from"
        help={words.blocksHelp}
        defaultValue={role?.token_bound_cidrs?.join(', ') ?? ''}
      />
    </>
  )
}

export const readTokenLimits = (values: Values) => ({
  token_policies: readWords(values.policies),
  token_ttl: readCount(values['token-ttl']),
  token_max_ttl: readCount(values['token-max-ttl']),
  token_num_uses: readCount(values['token-uses']),
  token_bound_cidrs: readWords(values['token-from']),
})

/** Settings of a role of Kubernetes, which the service also serves under the name orchestrator. */
export function IdentityRoleFields({ role }: { readonly role?: IdentityRole }) {
  return (
    <>
      <Field
        label={words.keys}
        name="jwks"
        isRequired
        help={words.keysHelp}
        defaultValue={role?.jwks_url ?? ''}
        validate={(text) => (/^https:\/\/\S+$/.test(text) ? null : words.keysHelp)}
      />
      <Field
        label={words.accounts}
        name="accounts"
        help={words.namesHelp}
        defaultValue={role?.bound_service_account_names.join(', ') ?? ''}
      />
      <Field
        label={words.namespaces}
        name="namespaces"
        help={words.namesHelp}
        defaultValue={role?.bound_service_account_namespaces.join(', ') ?? ''}
      />
      <Field
        label={words.issuer}
        name="issuer"
        help={words.issuerHelp}
        defaultValue={role?.expected_issuer ?? ''}
      />
      <Field
        label={words.audiences}
        name="audiences"
        help={words.audiencesHelp}
        defaultValue={role?.bound_audiences?.join(', ') ?? ''}
      />
      <TokenFields {...(role !== undefined && { role })} />
    </>
  )
}

export const readIdentityRole = (values: Values): AuthInput<'kubernetes.role.save'>['body'] => ({
  jwks_url: values.jwks ?? '',
  bound_service_account_names: readWords(values.accounts),
  bound_service_account_namespaces: readWords(values.namespaces),
  expected_issuer: values.issuer ?? '',
  bound_audiences: readWords(values.audiences),
  ...readTokenLimits(values),
})
