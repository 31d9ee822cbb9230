import { type FormEvent, type ReactNode, useState } from 'react'
import {
  Form as AriaForm,
  FieldError,
  Input,
  Label,
  Text,
  TextArea,
  TextField,
  type TextFieldProps,
} from 'react-aria-components'
import { describeError } from './errors.tsx'

/** A text field with its label, help and error. */
export function Field(
  props: Omit<TextFieldProps, 'children' | 'className'> & {
    readonly label: string
    readonly help?: ReactNode
    readonly error?: string | undefined
    /** For texts of several lines. */
    readonly isLong?: true
  },
) {
  const { label, help, error, isLong, ...field } = props
  return (
    <TextField {...field} className="field" {...(error !== undefined && { isInvalid: true })}>
      <Label>{label}</Label>
      {isLong === true ? <TextArea className="input" spellCheck={false} /> : <Input className="input" />}
      {help !== undefined && (
        <Text slot="description" className="quiet">
          {help}
        </Text>
      )}
      {error === undefined ? (
        <FieldError className="error" />
      ) : (
        <FieldError className="error">{error}</FieldError>
      )}
    </TextField>
  )
}

/** One of few values, with its label. */
export function Choice(props: {
  readonly label: string
  readonly name: string
  readonly value?: string
  readonly options: readonly { readonly value: string; readonly text: string }[]
}) {
  const { label, name, value, options } = props
  return (
    <label className="field">
      <span>{label}</span>
      <select name={name} defaultValue={value} className="input">
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Yes or no. Its value in a form is `yes`, or absent. */
export function Check(props: {
  readonly name: string
  readonly label: string
  readonly isSelected?: boolean
}) {
  const { name, label, isSelected = false } = props
  return (
    <label className="check">
      <input type="checkbox" name={name} value="yes" defaultChecked={isSelected} />
      <span>{label}</span>
    </label>
  )
}

/** A form of one act: while it runs, it cannot be sent again; its error is above the buttons and is announced. */
export function Form(props: {
  readonly children: ReactNode
  readonly submit: string
  readonly actions?: ReactNode
  readonly error?: unknown
  readonly isPending?: boolean
  /** Values of the fields by their names. */
  readonly onSubmit: (values: Readonly<Record<string, string>>) => void
}) {
  const { children, submit, actions, error, isPending = false, onSubmit } = props
  const [isSent, setIsSent] = useState(false)
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    if (isPending) return
    setIsSent(true)
    const data = [...new FormData(event.currentTarget)]
    onSubmit(
      Object.fromEntries(data.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))),
    )
  }
  const hasError = isSent && error !== undefined && error !== null
  return (
    <AriaForm className="form" onSubmit={send}>
      {children}
      {hasError && (
        <p className="notice danger" role="alert">
          {typeof error === 'string' ? error : describeError(error)}
        </p>
      )}
      <div className="actions">
        <button
          type="submit"
          className="button primary"
          aria-disabled={isPending}
          // The focus stays: leaving a field removes its error, which would move the button away from the click.
          onMouseDown={(event) => event.preventDefault()}
        >
          {submit}
        </button>
        {actions}
      </div>
    </AriaForm>
  )
}
