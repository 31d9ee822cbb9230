import { useState } from 'react'
import { kms } from '../../../api.ts'
import { Field, Form } from '../../../parts/field.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import type { KeyProps } from './rights.ts'

const words = texts.key.dates
const settable = ['activation_at', 'process_start_at', 'protect_stop_at', 'deactivation_at'] as const
const past = ['compromised_at', 'destroyed_at', 'archived_at'] as const

/** The dates of the life cycle, and their change. */
export function Dates({ of: key, may }: KeyProps) {
  const [isOpen, setIsOpen] = useState(false)
  const isFinal = key.state.startsWith('Destroyed')
  return (
    <section>
      <h2>{words.title}</h2>
      <dl className="facts">
        {[...settable, ...past.filter((name) => key[name] !== undefined)].map((name) => (
          <div key={name} className="fact">
            <dt>{words[name]}</dt>
            <dd>
              {key[name] === undefined ? (
                <span className="quiet">{words.none}</span>
              ) : (
                <Time at={key[name]} />
              )}
            </dd>
          </div>
        ))}
      </dl>
      {may('modifyattribute') && !isFinal && !isOpen && (
        <button type="button" className="button" onClick={() => setIsOpen(true)}>
          {words.change}
        </button>
      )}
      {isOpen && <ChangeDates of={key} close={() => setIsOpen(false)} />}
    </section>
  )
}

const toDay = (moment: string | undefined): string => moment?.slice(0, 10) ?? ''

function ChangeDates({ of: key, close }: Pick<KeyProps, 'of'> & { readonly close: () => void }) {
  const change = kms.useAct('crypto.keys.dates')
  const [problem, setProblem] = useState<string>()
  const submit = (values: Readonly<Record<string, string>>): void => {
    const body = Object.fromEntries(
      settable.flatMap((name) => {
        const day = values[name]
        // Fields that are not in the form, and days that stay, are not for the service.
        if (day === undefined || day === toDay(key[name])) return []
        return [[name, day === '' ? null : day]]
      }),
    )
    const isEmpty = Object.keys(body).length === 0
    setProblem(isEmpty ? words.nothing : undefined)
    if (isEmpty) return
    change.mutate(
      { path: { kid: key.kid }, body },
      {
        onSuccess: () => {
          showToast(words.saved)
          close()
        },
      },
    )
  }
  return (
    <Form
      submit={words.save}
      isPending={change.isPending}
      error={problem ?? change.error}
      onSubmit={submit}
      actions={
        <button type="button" className="button" onClick={close}>
          {texts.parts.cancel}
        </button>
      }
    >
      <p className="quiet">{words.help}</p>
      {settable
        .filter((name) => name !== 'activation_at' || key.state === 'PreActive')
        .map((name) => (
          <Field key={name} label={words[name]} name={name} type="date" defaultValue={toDay(key[name])} />
        ))}
    </Form>
  )
}
