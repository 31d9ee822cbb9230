import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { texts } from '../texts.ts'
import { CodeBlock } from './code-block.tsx'
import { ConfirmDialog } from './confirm.tsx'
import { Form } from './field.tsx'
import { showToast } from './toasts.tsx'

/** Values of the fields of a form by their names. */
export type Values = Readonly<Record<string, string>>

/** What a form destroys with the present values. */
export interface Warning {
  readonly verb: string
  readonly title: string
  readonly children: ReactNode
}

/** The command that does the same. */
export function CommandCode({ command }: { readonly command: string }) {
  return <CodeBlock label={texts.parts.asCommand} samples={[{ title: texts.parts.command, code: command }]} />
}

interface ActFormProps {
  readonly children: ReactNode
  readonly submit: string
  /** The command for the present values, without secrets. */
  readonly command: (values: Values) => string
  /** undefined: nothing ends, and the form asks no question. */
  readonly warn?: (values: Values) => Warning | undefined
  /** Told after success. */
  readonly done?: string
  /** @throws the error that the form shows */
  readonly act: (values: Values) => Promise<unknown>
}

/** A form that shows the command for what was entered, and asks before it destroys something. */
export function ActForm({ children, submit, command, warn, done, act }: ActFormProps) {
  const box = useRef<HTMLDivElement>(null)
  /** After success the fields are new ones, and the one with the focus is gone. */
  const isFocusLost = useRef(false)
  const [values, setValues] = useState<Values>({})
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const [asked, setAsked] = useState<{ readonly values: Values; readonly warning: Warning }>()
  const [round, setRound] = useState(0)
  const read = useCallback(() => setValues(readVisible(box.current)), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round begins with the initial values
  useEffect(read, [read, round])
  useEffect(() => {
    if (!isFocusLost.current || asked !== undefined) return
    isFocusLost.current = false
    box.current?.closest('details')?.querySelector('summary')?.focus()
  })
  const run = async (given: Values): Promise<void> => {
    await act(given)
    isFocusLost.current = true
    setRound((before) => before + 1)
    if (done !== undefined) showToast(done)
  }
  const send = async (given: Values): Promise<void> => {
    setError(undefined)
    const warning = warn?.(given)
    if (warning !== undefined) {
      setAsked({ values: given, warning })
      return
    }
    setIsPending(true)
    try {
      await run(given)
    } catch (thrown) {
      setError(thrown)
    } finally {
      setIsPending(false)
    }
  }
  const dialog = asked && (
    <ConfirmDialog
      {...asked.warning}
      isOpen
      onClose={() => setAsked(undefined)}
      onConfirm={() => run(asked.values)}
    />
  )
  return (
    <div ref={box} onInput={read} onChange={read}>
      <Form
        key={round}
        submit={submit}
        isPending={isPending}
        error={error}
        onSubmit={(given) => void send(given)}
      >
        {children}
      </Form>
      <CommandCode command={command(values)} />
      {dialog}
    </div>
  )
}

/** Values of the form in an element, without passwords: commands read those from files. */
function readVisible(box: HTMLDivElement | null): Values {
  const form = box?.querySelector('form')
  if (form == null) return {}
  const secrets = [...form.querySelectorAll<HTMLInputElement>('input[type=password]')].map(({ name }) => name)
  return Object.fromEntries(
    [...new FormData(form)].flatMap(([name, value]) =>
      typeof value === 'string' && !secrets.includes(name) ? [[name, value]] : [],
    ),
  )
}

/** An act of a room that is closed until it is wanted. */
export function Act({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <details className="act">
      <summary>{title}</summary>
      {children}
    </details>
  )
}
