import { useMutation } from '@tanstack/react-query'
import type { LoginRequest } from '@warder/client/browser'
import { beforeLogin } from '../../../api.ts'
import { Field, Form } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import { describePasskeyError, hasPasskeys, requestPasskey } from '../passkey.ts'

const words = texts.secondFactor

/** An answer to `TotpRequired`. */
export type SecondAnswer = Pick<LoginRequest, 'totpCode' | 'passkey'>

/** What the service wants besides the password. */
export interface SecondQuestion {
  readonly factors: readonly string[]
  readonly passkeyOptions?: unknown
}

/** Asks for a code, or for a passkey if the user has one. */
export function SecondFactorForms(props: {
  readonly question: SecondQuestion
  readonly submit: string
  readonly isPending: boolean
  readonly error: unknown
  readonly onAnswer: (answer: SecondAnswer) => void
}) {
  const { question, submit, isPending, error, onAnswer } = props
  const passkey = useMutation({
    meta: beforeLogin,
    gcTime: 0,
    mutationFn: async () => onAnswer({ passkey: await requestPasskey(question.passkeyOptions) }),
  })
  return (
    <>
      <Form
        submit={submit}
        isPending={isPending}
        error={error}
        onSubmit={({ code = '' }) => onAnswer({ totpCode: code.trim() })}
      >
        <Field
          label={words.code}
          help={words.codeHelp}
          name="code"
          autoComplete="one-time-code"
          isRequired
          maxLength={64}
        />
      </Form>
      {question.factors.includes('passkey') && hasPasskeys() && (
        <>
          <p className="divider">{texts.signIn.or}</p>
          <Form
            submit={words.passkey}
            isPending={passkey.isPending || isPending}
            error={describePasskeyError(passkey.error)}
            onSubmit={() => passkey.mutate()}
          >
            {null}
          </Form>
        </>
      )}
    </>
  )
}
