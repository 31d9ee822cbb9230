import { useMutation } from '@tanstack/react-query'
import { type AuthReply, ClientError } from '@warder/client/browser'
import { useState } from 'react'
import { auth, authService, beforeLogin, queryClient } from '../../../api.ts'
import { Field, Form } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import { describePasskeyError, requestPasskey } from '../passkey.ts'
import { type SecondAnswer, SecondFactorForms, type SecondQuestion } from './second-factor.tsx'

const words = texts.logInAgain

type Account = AuthReply<'account.get'>

interface LogInAgainProps {
  readonly account: Account
  readonly onDone: () => void
}

/** Ends the session that the new one replaces, and reads everything again. */
async function replaceSession({ session_id: id }: Account): Promise<void> {
  await auth.client.call('sessions.end', { body: { session_ids: [id] } })
  await queryClient.invalidateQueries()
}

/** A login as the same user, by the method of the session: another one may have other rights. */
export function LogInAgain(props: LogInAgainProps) {
  const { auth_scheme: scheme } = props.account
  if (scheme === 'up') return <WithPassword {...props} />
  return scheme === 'f2' ? <WithPasskey {...props} /> : <Elsewhere />
}

function WithPassword({ account, onDone }: LogInAgainProps) {
  const { realm_id: realm, username } = account
  const [asked, setAsked] = useState<{ readonly password: string; readonly question: SecondQuestion }>()
  const login = useMutation({
    meta: beforeLogin,
    gcTime: 0,
    mutationFn: async ({
      password,
      second,
    }: {
      readonly password: string
      readonly second?: SecondAnswer
    }) => {
      const result = await authService.login({ realm, username, password, ...second })
      if (result.step === 'ChangePassword')
        throw new ClientError({ kind: 'forbidden', description: words.change })
      if (result.step === 'TotpRequired') return setAsked({ password, question: result })
      await replaceSession(account)
      onDone()
    },
  })
  const refused = (text: string) =>
    login.error instanceof ClientError && login.error.status === 401 ? text : login.error
  if (asked !== undefined)
    return (
      <SecondFactorForms
        question={asked.question}
        submit={words.submit}
        isPending={login.isPending}
        error={refused(texts.secondFactor.wrong)}
        onAnswer={(second) => login.mutate({ password: asked.password, second })}
      />
    )
  return (
    <Form
      submit={words.submit}
      isPending={login.isPending}
      error={refused(texts.password.wrong)}
      onSubmit={({ password = '' }) => login.mutate({ password })}
    >
      <Field
        label={words.password(username)}
        name="password"
        type="password"
        autoComplete="current-password"
        isRequired
        // The dialog asks for nothing else.
        autoFocus
      />
    </Form>
  )
}

function WithPasskey({ account, onDone }: LogInAgainProps) {
  const { realm_id: realm } = account
  const login = useMutation({
    meta: beforeLogin,
    gcTime: 0,
    mutationFn: async () => {
      const options = await auth.client.call('passkeys.login_options', { query: { realm } })
      const credential = await requestPasskey(options)
      await auth.client.call('passkeys.login', { query: { realm }, body: { credential } })
      await replaceSession(account)
      onDone()
    },
  })
  return (
    <Form
      submit={words.passkey}
      isPending={login.isPending}
      error={describePasskeyError(login.error)}
      onSubmit={() => login.mutate()}
    >
      {null}
    </Form>
  )
}

/** The frame shows the login when there is no user, and returns to this room. */
function Elsewhere() {
  const logout = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      await auth.client.call('sessions.logout')
      queryClient.setQueryData(['me'], null)
    },
  })
  return (
    <>
      <p>{words.elsewhere}</p>
      <Form
        submit={words.logOut}
        isPending={logout.isPending}
        error={logout.error}
        onSubmit={() => logout.mutate()}
      >
        {null}
      </Form>
    </>
  )
}
