import type { AuthReply } from '@warder/client/browser'
import type { Values } from '../../../parts/act-form.tsx'
import { readWords } from '../../../parts/command.ts'
import { Field } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import { isCount, readCount, readTokenLimits, TokenFields } from './role.tsx'

const words = texts.machines
export type AppRole = AuthReply<'approle.role.get'>

/** Settings of an AppRole. */
export function AppRoleFields({ role }: { readonly role?: AppRole['data'] }) {
  return (
    <>
      <TokenFields {...(role !== undefined && { role })} />
      <Field
        label={words.secretIdSeconds}
        name="secret-id-ttl"
        inputMode="numeric"
        help={words.noLimitHelp}
        defaultValue={String(role?.secret_id_ttl ?? '')}
        validate={isCount}
      />
      <Field
        label={words.secretIdUses}
        name="secret-id-uses"
        inputMode="numeric"
        help={words.noLimitHelp}
        defaultValue={String(role?.secret_id_num_uses ?? '')}
        validate={isCount}
      />
      <Field
        label={words.loginFrom}
        name="login-from"
        help={words.blocksHelp}
        defaultValue={role?.secret_id_bound_cidrs?.join(', ') ?? ''}
      />
    </>
  )
}

export const readAppRole = (values: Values) => ({
  ...readTokenLimits(values),
  secret_id_ttl: readCount(values['secret-id-ttl']),
  secret_id_num_uses: readCount(values['secret-id-uses']),
  secret_id_bound_cidrs: readWords(values['login-from']),
})

/** Options of the command for the values of a form. */
export const toAppRoleOptions = (values: Values) => ({
  policy: readWords(values.policies),
  'token-ttl': values['token-ttl'],
  'token-max-ttl': values['token-max-ttl'],
  'token-uses': values['token-uses'],
  'token-from': readWords(values['token-from']).join(','),
  'secret-id-ttl': values['secret-id-ttl'],
  'secret-id-uses': values['secret-id-uses'],
  'login-from': readWords(values['login-from']).join(','),
})
