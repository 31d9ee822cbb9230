import { useMutation } from '@tanstack/react-query'
import { ClientError } from '@warder/client/browser'
import { useEffect, useRef, useState } from 'react'
import { authService, beforeLogin, queryClient } from '../../../api.ts'
import { Field, Form } from '../../../parts/field.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import { useAccount } from './recent-login.tsx'
import { type SecondAnswer, SecondFactorForms, type SecondQuestion } from './second-factor.tsx'

const words = texts.password

interface Chosen {
  readonly password: string
  readonly newPassword: string
}

/** The passwords stay in the memory of the room until the change is done. */
type Step =
  | { readonly kind: 'choose'; readonly chosen?: Chosen; readonly advice?: string }
  | { readonly kind: 'prove'; readonly chosen: Chosen; readonly question: SecondQuestion }
  | { readonly kind: 'stay'; readonly password: string; readonly question: SecondQuestion }

const isRefused = (error: unknown, status: number): error is ClientError =>
  error instanceof ClientError && error.status === status

/** What is wrong with the new password, in the words of the service; undefined if something else is wrong. */
function readAdvice(error: unknown): string | undefined {
  const reason = isRefused(error, 400) ? /^new_password: (.*)$/s.exec(error.description)?.[1] : undefined
  return reason === undefined ? undefined : words.refused(reason)
}

/** Changes the password of the user, and keeps the user logged in. */
export function Password() {
  const { account } = useAccount()
  const [step, setStep] = useState<Step>({ kind: 'choose' })
  const [round, setRound] = useState(0)
  const { realm_id: realm, username } = account
  const stay = useMutation({
    meta: beforeLogin,
    gcTime: 0,
    mutationFn: async ({
      password,
      second,
    }: {
      readonly password: string
      readonly second?: SecondAnswer
    }) => {
      // A session that began with a passkey has not ended.
      if (account.auth_scheme === 'up') {
        const result = await authService.login({ realm, username, password, ...second })
        if (result.step === 'TotpRequired') return setStep({ kind: 'stay', password, question: result })
      }
      setStep({ kind: 'choose' })
      setRound(round + 1)
      showToast(words.changed)
      await queryClient.invalidateQueries()
    },
  })
  const change = useMutation({
    meta: beforeLogin,
    gcTime: 0,
    mutationFn: async ({ chosen, second }: { readonly chosen: Chosen; readonly second?: SecondAnswer }) => {
      const { password, newPassword } = chosen
      if (second === undefined && (account.totp || account.passkeys > 0)) {
        // The login without the second factor begins no session; it tells which factors are accepted.
        const result = await authService.login({ realm, username, password })
        if (result.step === 'TotpRequired') return setStep({ kind: 'prove', chosen, question: result })
      }
      await authService.changePassword({ realm, username, password, newPassword, ...second })
      await stay.mutateAsync({ password: newPassword })
    },
    onError: (error, { chosen }) => {
      const advice = readAdvice(error)
      if (advice !== undefined) setStep({ kind: 'choose', chosen, advice })
    },
  })
  if (!account.password) return <p>{words.elsewhere}</p>
  if (step.kind === 'stay')
    return (
      <>
        <p className="notice">{words.stay}</p>
        <SecondFactorForms
          question={step.question}
          submit={words.staySubmit}
          isPending={stay.isPending}
          error={isRefused(stay.error, 401) ? texts.secondFactor.wrong : stay.error}
          onAnswer={(second) => stay.mutate({ password: step.password, second })}
        />
      </>
    )
  if (step.kind === 'prove')
    return (
      <>
        <p className="notice">{words.prove}</p>
        <SecondFactorForms
          question={step.question}
          submit={words.proveSubmit}
          isPending={change.isPending}
          error={isRefused(change.error, 401) ? texts.secondFactor.wrong : change.error}
          onAnswer={(second) => change.mutate({ chosen: step.chosen, second })}
        />
      </>
    )
  const { chosen, advice } = step
  return (
    <Choose
      key={round}
      chosen={chosen}
      advice={advice}
      isPending={change.isPending}
      error={isRefused(change.error, 401) ? words.wrong : advice === undefined ? change.error : undefined}
      onEdit={() => {
        change.reset()
        setStep({ kind: 'choose' })
      }}
      onChoose={(passwords) => change.mutate({ chosen: passwords })}
    />
  )
}

function Choose(props: {
  /** Given before, and refused. */
  readonly chosen: Chosen | undefined
  readonly advice: string | undefined
  readonly isPending: boolean
  readonly error: unknown
  /** The user corrects the new password. */
  readonly onEdit: () => void
  readonly onChoose: (chosen: Chosen) => void
}) {
  const { chosen, advice, isPending, error, onEdit, onChoose } = props
  const [differ, setDiffer] = useState(false)
  const form = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (advice !== undefined) form.current?.querySelector<HTMLInputElement>('[name=newPassword]')?.focus()
  }, [advice])
  return (
    <div ref={form}>
      <Form
        submit={words.submit}
        isPending={isPending}
        error={error}
        onSubmit={({ password = '', newPassword = '', again = '' }) => {
          setDiffer(newPassword !== again)
          if (newPassword === again) onChoose({ password, newPassword })
        }}
      >
        <Field
          label={words.present}
          name="password"
          type="password"
          autoComplete="current-password"
          isRequired
          defaultValue={chosen?.password ?? ''}
        />
        <Field
          label={words.chosen}
          help={words.chosenHelp}
          name="newPassword"
          type="password"
          autoComplete="new-password"
          isRequired
          defaultValue={chosen?.newPassword ?? ''}
          error={advice}
          onChange={() => {
            setDiffer(false)
            if (advice !== undefined) onEdit()
          }}
        />
        <Field
          label={words.again}
          name="again"
          type="password"
          autoComplete="new-password"
          isRequired
          error={differ ? texts.signIn.differ : undefined}
          onChange={() => setDiffer(false)}
        />
      </Form>
    </div>
  )
}
