import { ClientError } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { Act, ActForm } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Failure } from '../../../parts/errors.tsx'
import { Check, Field } from '../../../parts/field.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'

const words = texts.renewal

/** Whether a certificate is renewed automatically, and the form that changes it. */
export function Renewal({ id }: { readonly id: string }) {
  const { data, error, refetch } = kms.useOperation('pki.certificates.renewal.get', { path: { id } })
  const { mutateAsync } = kms.useAct('pki.certificates.renewal.set')
  // No authority of this service issued it.
  if (error instanceof ClientError && error.status === 400) return null
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  if (data === undefined) return null
  const { automatic, new_key: newKey, interval_days: days, due_at: due } = data
  return (
    <section aria-label={words.title} className="part">
      <h2>{words.title}</h2>
      <p>
        <Status kind={automatic ? 'good' : 'warning'}>{automatic ? words.renews : words.renewsNot}</Status>
        {automatic && (
          <>
            {newKey && ` ${words.withNewKey}`}, {words.next} <Time at={due} isShort />
          </>
        )}
      </p>
      <Act title={words.change}>
        <ActForm
          key={`${automatic} ${newKey} ${days}`}
          submit={words.change}
          done={words.changed}
          command={(values) =>
            toCommand(
              'warder pki auto-renew',
              [id],
              values.automatic === 'yes'
                ? { 'new-key': values.new_key === 'yes', every: values.days }
                : { off: true },
            )
          }
          act={(values) => {
            const isOn = values.automatic === 'yes'
            return mutateAsync({
              path: { id },
              body: {
                automatic: isOn,
                ...(isOn && values.new_key === 'yes' && { new_key: true }),
                ...(isOn &&
                  values.days !== undefined &&
                  values.days !== '' && { interval_days: Number(values.days) }),
              },
            })
          }}
        >
          <Check name="automatic" label={words.automatic} isSelected={automatic} />
          <Check name="new_key" label={words.newKey} isSelected={newKey} />
          <Field
            label={words.every}
            name="days"
            inputMode="numeric"
            pattern="[0-9]{1,5}"
            defaultValue={days === undefined ? '' : String(days)}
            help={words.everyHelp}
          />
        </ActForm>
      </Act>
    </section>
  )
}
