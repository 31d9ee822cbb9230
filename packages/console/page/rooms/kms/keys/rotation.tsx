import type { Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import type { KeyProps } from './rights.ts'

const words = texts.key.rotation
type Settings = Reply<'crypto.keys.rotation.get'>
const daySeconds = 86_400
/** AES-GCM messages of one version, counted in blocks. */
const maxMessages = 2 ** 32

/** When the key rotates, how many messages its version may still protect, and which versions still decrypt. */
export function Rotation({ of: key, may }: KeyProps) {
  const { kid, abe, object_type: type } = key
  const hasRotation =
    abe === undefined && (type === 'SymmetricKey' || type === 'PrivateKey' || type === 'PublicKey')
  const { data, error, refetch } = kms.useOperation(
    'crypto.keys.rotation.get',
    { path: { kid } },
    { enabled: hasRotation },
  )
  const [isOpen, setIsOpen] = useState(false)
  if (!hasRotation) return null
  return (
    <section>
      <h2>{words.title}</h2>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton />}
      {data !== undefined && <Schedule of={data} />}
      {data !== undefined && may('setattribute') && !isOpen && (
        <button type="button" className="button" onClick={() => setIsOpen(true)}>
          {words.change}
        </button>
      )}
      {data !== undefined && isOpen && <ChangeRotation of={data} close={() => setIsOpen(false)} />}
    </section>
  )
}

function Schedule({ of: settings }: { readonly of: Settings }) {
  const { rotate_every: own, rotate_after_messages: ownMessages, messages, policy } = settings
  const every = own ?? policy?.rotate_every
  const after = ownMessages ?? policy?.rotate_after_messages
  const byPolicy = <span className="quiet"> ({words.byPolicy})</span>
  return (
    <dl className="facts">
      <div className="fact">
        <dt>{words.every}</dt>
        <dd>
          {every === undefined || every === 0 ? words.notByTime : words.days(every / daySeconds)}
          {own === undefined && every !== undefined && byPolicy}
        </dd>
      </div>
      {settings.rotates_at !== undefined && (
        <div className="fact">
          <dt>{words.next}</dt>
          <dd>
            <Time at={settings.rotates_at} />
          </dd>
        </div>
      )}
      {messages !== undefined && (
        <div className="fact">
          <dt>{words.budget}</dt>
          <dd>
            <meter
              min={0}
              max={maxMessages}
              high={maxMessages * 0.9}
              value={messages}
              aria-label={words.budget}
            />{' '}
            {words.budgetOf(messages, maxMessages)} <span className="quiet">{words.budgetHelp}</span>
          </dd>
        </div>
      )}
      <div className="fact">
        <dt>{words.afterMessages}</dt>
        <dd>
          {after === undefined || after === 0 ? words.notByUse : after.toLocaleString('en')}
          {ownMessages === undefined && after !== undefined && byPolicy}
        </dd>
      </div>
      <div className="fact">
        <dt>{words.minVersion}</dt>
        <dd>{settings.min_decrypt_version}</dd>
      </div>
    </dl>
  )
}

function ChangeRotation({ of: settings, close }: { readonly of: Settings; readonly close: () => void }) {
  const change = kms.useAct('crypto.keys.rotation.set')
  const {
    kid,
    messages,
    rotate_every: every,
    rotate_after_messages: after,
    min_decrypt_version: min,
  } = settings
  const [command, setCommand] = useState(`warder keys set-rotation ${kid} --every 90d`)
  const read = (values: Readonly<Record<string, string>>) => {
    const [days, uses, oldest] = [
      Number(values.days ?? ''),
      Number(values.messages ?? ''),
      Number(values.min ?? ''),
    ]
    return {
      ...(days * daySeconds !== (every ?? 0) && { rotate_every: days * daySeconds }),
      ...(values.messages !== undefined && uses !== (after ?? 0) && { rotate_after_messages: uses }),
      ...(oldest !== 0 && oldest !== min && { min_decrypt_version: oldest }),
    }
  }
  const submit = (values: Readonly<Record<string, string>>): void => {
    const body = read(values)
    setCommand(toCommand(kid, body))
    if (Object.keys(body).length === 0) {
      close()
      return
    }
    const onSuccess = (): void => {
      showToast(words.saved)
      close()
    }
    change.mutate({ path: { kid }, body }, { onSuccess })
  }
  const number = { inputMode: 'numeric', pattern: '[0-9]*' } as const
  return (
    <>
      <Form
        submit={words.save}
        isPending={change.isPending}
        error={change.error}
        onSubmit={submit}
        actions={
          <button type="button" className="button" onClick={close}>
            {texts.parts.cancel}
          </button>
        }
      >
        <Field
          {...number}
          label={words.everyLabel}
          help={words.everyHelp}
          name="days"
          pattern="[0-9]*(\.[0-9]+)?"
          defaultValue={every === undefined || every === 0 ? '' : String(every / daySeconds)}
        />
        {messages !== undefined && (
          <Field
            {...number}
            label={words.messagesLabel}
            help={words.messagesHelp}
            name="messages"
            defaultValue={after === undefined || after === 0 ? '' : String(after)}
          />
        )}
        <Field {...number} label={words.minLabel} name="min" defaultValue={String(min)} />
      </Form>
      <CodeBlock label={texts.key.command} samples={[{ title: texts.key.command, code: command }]} />
    </>
  )
}

function toCommand(
  kid: string,
  body: { rotate_every?: number; rotate_after_messages?: number; min_decrypt_version?: number },
): string {
  const { rotate_every: every, rotate_after_messages: after, min_decrypt_version: min } = body
  const orNone = (value: number, unit: string): string => (value === 0 ? 'none' : `${value}${unit}`)
  return [
    `warder keys set-rotation ${kid}`,
    ...(every === undefined ? [] : [`--every ${orNone(every / daySeconds, 'd')}`]),
    ...(after === undefined ? [] : [`--after-messages ${orNone(after, '')}`]),
    ...(min === undefined ? [] : [`--min-decrypt-version ${min}`]),
  ].join(' ')
}
