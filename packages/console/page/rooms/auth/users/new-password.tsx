import type { Values } from '../../../parts/act-form.tsx'
import { Field } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'

const randomBytes = 18

/** A new password of a user. A random one is shown once, because no person knows it yet. */
export interface NewPassword {
  readonly text: string
  readonly isRandom: boolean
}

/** @param values of a form with `PasswordField`; an empty field: 144 random bits */
export function choosePassword({ password = '' }: Values): NewPassword {
  if (password !== '') return { text: password, isRandom: false }
  const bytes = crypto.getRandomValues(new Uint8Array(randomBytes))
  const base64 = btoa(String.fromCharCode(...bytes))
  return { text: base64.replaceAll('+', '-').replaceAll('/', '_'), isRandom: true }
}

export function PasswordField() {
  return (
    <Field
      label={texts.users.newPassword}
      help={texts.users.newPasswordHelp}
      name="password"
      type="password"
      autoComplete="new-password"
    />
  )
}
