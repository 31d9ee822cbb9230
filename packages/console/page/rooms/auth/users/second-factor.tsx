import { auth } from '../../../api.ts'
import { Act, ActForm, CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Choice } from '../../../parts/field.tsx'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.user
const hours = [1, 24, 72, 168] as const
const defaultHours = 24

/** TOTP of a user: a one-time link for its enrollment, and its removal. The administrator never sees the secret. */
export function SecondFactor({ realm, name }: { readonly realm: string; readonly name: string }) {
  const path = { realm_id: realm, username: name }
  const link = auth.useAct('totp.link')
  const disable = auth.useAct('totp.disable')
  const [made, show] = useShownOnce<{ readonly token: string; readonly expires_at: number }>()
  const toDisable = toCommand('warder admin disable-totp', [name], { realm })
  return (
    <section className="part" aria-labelledby="second-factor">
      <h2 id="second-factor">{words.secondFactor}</h2>
      <p className="quiet">{words.secondFactorHelp}</p>
      {made !== undefined && (
        <>
          <Secret label={words.linkOf(name)} value={`${window.location.origin}/ui/enroll#${made.token}`} />
          <p>
            {words.linkUntil} <Time at={made.expires_at * 1000} />
          </p>
        </>
      )}
      <Act title={words.link}>
        <ActForm
          submit={words.link}
          done={words.linkMade}
          command={(values) => toCommand('warder admin totp-token', [name], { realm, hours: values.hours })}
          act={async (values) =>
            show(await link.mutateAsync({ path, body: { expires_in_seconds: Number(values.hours) * 3600 } }))
          }
        >
          <p className="quiet">{words.linkHelp}</p>
          <Choice
            label={words.linkHours}
            name="hours"
            value={String(defaultHours)}
            options={hours.map((each) => ({ value: String(each), text: words.hours(each) }))}
          />
        </ActForm>
      </Act>
      <Confirm
        verb={words.disableTotp}
        title={words.disableTotpTitle(name)}
        onConfirm={async () => {
          await disable.mutateAsync({ path })
          showToast(words.totpDisabled)
        }}
      >
        <p>{words.disableTotpEnds}</p>
        <CommandCode command={toDisable} />
      </Confirm>
    </section>
  )
}
