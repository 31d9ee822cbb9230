import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { beforeLogin, kms } from '../../api.ts'
import { RoomHeader } from '../../frame/room-header.tsx'
import { beginSession, useInfo, useMe } from '../../frame/session.ts'
import { Field, Form } from '../../parts/field.tsx'
import { navigate, toRoomPath } from '../../parts/router.ts'
import type { RoomProps } from '../../room.ts'
import { texts } from '../../texts.ts'

const words = texts.kmsLogin

const isProblem = (text: string | null): text is keyof typeof words.problems =>
  text !== null && Object.hasOwn(words.problems, text)

/** The ways to log in that this key management service has. */
export function Room({ query }: RoomProps) {
  const { ways = [], realms = [] } = useInfo().data ?? {}
  const to = toRoomPath(query.get('to')) ?? '/ui/'
  const problem = query.get('problem')
  const isLoggedIn = useMe('kms').data != null
  useEffect(() => {
    if (isLoggedIn) navigate(to, { replace: true })
  }, [isLoggedIn, to])
  return (
    <div className="narrow">
      <RoomHeader title={words.title} />
      {query.get('reason') === 'ended' && <p className="notice">{texts.frame.sessionEnded}</p>}
      {isProblem(problem) && (
        <p className="notice" role="alert">
          {words.problems[problem]}
        </p>
      )}
      {ways.length === 0 && <p className="notice">{words.nothing}</p>}
      {ways.includes('handover') && (
        <p>
          <a className="button primary" href={`/ui/login_handover?${new URLSearchParams({ to })}`}>
            {words.atAuth}
          </a>{' '}
          <span className="quiet">{words.atAuthHelp}</span>
        </p>
      )}
      {ways.includes('password') && !ways.includes('handover') && <Password />}
      {ways.includes('saml') && <Saml realms={realms} />}
      {ways.includes('openid') && (
        <p>
          <a className="button" href="/ui/login_flow">
            {words.atOpenId}
          </a>
        </p>
      )}
    </div>
  )
}

function Password() {
  const [step, setStep] = useState<string>()
  const login = useMutation({
    meta: beforeLogin,
    mutationFn: async ({ username = '', password = '', code = '' }: Readonly<Record<string, string>>) => {
      const body = { username, password, ...(code !== '' && { totp_code: code }) }
      const { next_step: next } = await kms.client.call('ui.login', { body })
      setStep(next)
      if (next === 'Authenticated') await beginSession()
    },
  })
  const problem =
    step === 'TotpRequired' ? words.codeNeeded : step === 'ChangePassword' ? words.changeNeeded : undefined
  return (
    <Form
      submit={words.title}
      onSubmit={(values) => login.mutate(values)}
      isPending={login.isPending}
      error={login.error ?? problem}
    >
      <Field
        label={words.username}
        help={words.usernameHelp}
        name="username"
        autoComplete="username"
        isRequired
      />
      <Field
        label={words.password}
        name="password"
        type="password"
        autoComplete="current-password"
        isRequired
      />
      <Field label={words.code} help={words.codeHelp} name="code" autoComplete="one-time-code" />
    </Form>
  )
}

function Saml({ realms }: { readonly realms: readonly string[] }) {
  const go = (realm: string): void =>
    window.location.assign(`/ui/login_saml?${new URLSearchParams({ realm })}`)
  return (
    <>
      <p className="divider">{texts.signIn.or}</p>
      <ul className="plain-list">
        {realms.map((realm) => (
          <li key={realm}>
            <a className="button" href={`/ui/login_saml?${new URLSearchParams({ realm })}`}>
              {words.atRealm(realm)}
            </a>
          </li>
        ))}
      </ul>
      <Form submit={words.atProvider} onSubmit={({ realm = '' }) => go(realm)}>
        <Field label={words.samlRealm} name="realm" isRequired maxLength={64} pattern="[A-Za-z0-9_\-]+" />
      </Form>
    </>
  )
}
