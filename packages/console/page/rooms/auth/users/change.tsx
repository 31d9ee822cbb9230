import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { Act, ActForm, CommandCode, type Values } from '../../../parts/act-form.tsx'
import { readWords, toCommand } from '../../../parts/command.ts'
import { Check, Field } from '../../../parts/field.tsx'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { texts } from '../../../texts.ts'
import { choosePassword, PasswordField } from './new-password.tsx'

const words = texts.user
type User = AuthReply<'credentials.get'>

const toPath = ({ realm, username }: User) => ({ realm_id: realm, username })

/** A new password, which ends the sessions of the user. */
export function ResetPassword({ user }: { readonly user: User }) {
  const replace = auth.useAct('credentials.replace')
  const [password, show] = useShownOnce<string>()
  const toReset = ({ change }: Values): string =>
    toCommand('warder admin reset-password', [user.username], {
      realm: user.realm,
      'keep-password': change !== 'yes',
    })
  const act = async (values: Values): Promise<void> => {
    const chosen = choosePassword(values)
    await replace.mutateAsync({
      path: toPath(user),
      body: {
        roles: user.roles,
        extra_claims: user.extra_claims ?? null,
        change_password: values.change === 'yes',
        password_input: { plaintext: chosen.text },
      },
    })
    show(chosen.isRandom ? chosen.text : undefined)
  }
  return (
    <>
      {password !== undefined && <Secret label={texts.users.passwordOf(user.username)} value={password} />}
      <Act title={words.reset}>
        <ActForm
          submit={words.reset}
          done={words.wasReset}
          command={toReset}
          act={act}
          warn={(values) => ({
            verb: words.reset,
            title: words.resetTitle(user.username),
            children: (
              <>
                <p>{words.resetEnds}</p>
                <CommandCode command={toReset(values)} />
              </>
            ),
          })}
        >
          <PasswordField />
          <Check name="change" label={texts.users.change} isSelected />
        </ActForm>
      </Act>
    </>
  )
}

/** Roles of a user, and whether the password must be changed. */
export function ChangeUser({ user }: { readonly user: User }) {
  const replace = auth.useAct('credentials.replace')
  return (
    <Act title={words.change}>
      <ActForm
        submit={words.change}
        done={words.changed}
        command={({ roles, change }) => {
          const next = readWords(roles)
          return toCommand('warder admin change-user', [user.username], {
            realm: user.realm,
            'add-role': next.filter((role) => !user.roles.includes(role)),
            'remove-role': user.roles.filter((role) => !next.includes(role)),
            'change-password': change === 'yes',
          })
        }}
        act={({ roles, change }) =>
          replace.mutateAsync({
            path: toPath(user),
            body: {
              roles: readWords(roles),
              extra_claims: user.extra_claims ?? null,
              change_password: change === 'yes',
            },
          })
        }
      >
        <Field
          label={texts.users.roles}
          name="roles"
          isLong
          help={words.rolesHelp}
          defaultValue={user.roles.join('\n')}
        />
        <Check name="change" label={texts.users.change} isSelected={user.change_password} />
      </ActForm>
    </Act>
  )
}
