import { CopyButton } from '../../../parts/copy.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import { QrCode } from './qr-code.tsx'

const words = texts.totp

/** A TOTP secret that waits for its first code. */
export interface Enrollment {
  readonly secret_base32: string
  readonly otpauth_url: string
  readonly enrollment: string
}

/** In groups of four, as apps show it. */
const group = (secret: string): string => secret.replace(/(.{4})(?=.)/g, '$1 ')

/** The secret for an authenticator app, and the code that confirms it. */
export function EnrollmentForm(props: {
  readonly enrollment: Enrollment
  readonly isPending: boolean
  readonly error: unknown
  readonly onCode: (code: string) => void
  readonly onCancel: () => void
}) {
  const { enrollment, isPending, error, onCode, onCancel } = props
  return (
    <div className="enrollment">
      <p>{words.scan}</p>
      <QrCode text={enrollment.otpauth_url} label={words.qr} />
      <dl className="facts">
        <dt>{words.secret}</dt>
        <dd className="actions">
          <code>{group(enrollment.secret_base32)}</code>
          <CopyButton text={enrollment.secret_base32} />
        </dd>
      </dl>
      <Form
        submit={words.confirm}
        isPending={isPending}
        error={error}
        onSubmit={({ code = '' }) => onCode(code.replaceAll(/\s/g, ''))}
        actions={
          <button type="button" className="button" onClick={onCancel}>
            {texts.parts.cancel}
          </button>
        }
      >
        <Field
          label={words.code}
          help={words.codeHelp}
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          isRequired
          maxLength={12}
          validate={(value) => (/^\s*(\d\s*){6,8}$/.test(value) ? null : words.codeRule)}
        />
      </Form>
    </div>
  )
}
