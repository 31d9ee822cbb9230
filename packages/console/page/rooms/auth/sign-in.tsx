import { useMutation, useQuery } from '@tanstack/react-query'
import { ClientError, type LoginRequest } from '@warder/client/browser'
import { type ReactNode, useEffect, useState } from 'react'
import { auth, authService, beforeLogin } from '../../api.ts'
import { RoomHeader } from '../../frame/room-header.tsx'
import { beginSession, logOut, useMe } from '../../frame/session.ts'
import { Failure } from '../../parts/errors.tsx'
import { Field, Form } from '../../parts/field.tsx'
import { navigate, toRoomPath, useAddress } from '../../parts/router.ts'
import { Skeleton } from '../../parts/skeleton.tsx'
import type { RoomProps } from '../../room.ts'
import { texts } from '../../texts.ts'
import { describePasskeyError, hasPasskeys, requestPasskey } from './passkey.ts'

const words = texts.signIn

/** What comes next. The password stays in the memory of this room until the login is done. */
type Step =
  | { readonly kind: 'first' }
  | {
      readonly kind: 'second'
      readonly proof: Proof
      readonly factors: readonly string[]
      readonly passkeyOptions: unknown
    }
  | { readonly kind: 'change'; readonly proof: Proof }

interface Proof {
  readonly username: string
  readonly password: string
  readonly second?: Pick<LoginRequest, 'totpCode' | 'passkey'>
}

/** The login, alone or for a hand-over to the key management service. */
export function Room({ query }: RoomProps) {
  const me = useMe('auth')
  const request = useAddress().pathname === '/ui/handover' ? query.get('request') : null
  const to = toRoomPath(query.get('to')) ?? '/ui/'
  const isLoggedIn = me.data != null
  useEffect(() => {
    if (isLoggedIn && request === null) navigate(to, { replace: true })
  }, [isLoggedIn, request, to])
  if (isLoggedIn && request !== null) return <HandOver request={request} />
  return (
    <div className="narrow">
      {query.get('reason') === 'ended' && <p className="notice">{texts.frame.sessionEnded}</p>}
      {request !== null && <p className="notice">{words.handover}</p>}
      <SignIn givenRealm={query.get('realm') ?? undefined} />
    </div>
  )
}

/**
 * Gives the session to the service that requested it; the address is that of the service's own request. A program on this
 * computer, which anyone could have started, gets it when the user confirms.
 */
function HandOver({ request }: { readonly request: string }) {
  const { mutate, error, isIdle, data } = useMutation({
    mutationFn: async (confirmed: boolean) => {
      const body = { request, ...(confirmed && { confirmed }) }
      const reply = await auth.client.call('handover.give', { body })
      if (reply.location !== undefined) window.location.replace(reply.location)
      return reply
    },
  })
  useEffect(() => {
    if (isIdle) mutate(false)
  }, [isIdle, mutate])
  if (error === null && data?.confirm !== undefined) return <ConfirmProgram onConfirm={() => mutate(true)} />
  return (
    <div className="narrow">
      <RoomHeader title={words.handingOver} />
      {error === null ? <Skeleton /> : <Failure error={error} retry={() => mutate(false)} />}
    </div>
  )
}

function ConfirmProgram({ onConfirm }: { readonly onConfirm: () => void }) {
  const me = useMe('auth').data
  const [isRefused, setRefused] = useState(false)
  const other = useMutation({ mutationFn: () => logOut('auth') })
  if (isRefused)
    return (
      <div className="narrow">
        <RoomHeader title={words.program.title} />
        <p role="status">{words.program.refused}</p>
      </div>
    )
  return (
    <div className="narrow">
      <RoomHeader title={words.program.title}>
        <bdi>{words.program.description(`${me?.realm}/${me?.name}`)}</bdi>
      </RoomHeader>
      <p className="notice">{words.program.warning}</p>
      {other.error !== null && <Failure error={other.error} />}
      <p className="actions">
        <button type="button" className="button primary" onClick={onConfirm}>
          {words.program.allow}
        </button>
        <button type="button" className="button" onClick={() => setRefused(true)}>
          {words.program.refuse}
        </button>
        <button type="button" className="button plain" onClick={() => other.mutate()}>
          {words.program.otherUser}
        </button>
      </p>
    </div>
  )
}

function SignIn({ givenRealm }: { readonly givenRealm: string | undefined }) {
  const [realm, setRealm] = useState(givenRealm)
  const [step, setStep] = useState<Step>({ kind: 'first' })
  if (realm === undefined) return <RealmForm onRealm={setRealm} />
  const startAgain = (
    <button type="button" className="button" onClick={() => setStep({ kind: 'first' })}>
      {words.startAgain}
    </button>
  )
  if (step.kind === 'second')
    return <SecondFactor realm={realm} step={step} onStep={setStep} startAgain={startAgain} />
  if (step.kind === 'change')
    return <ChangePassword realm={realm} proof={step.proof} onStep={setStep} startAgain={startAgain} />
  return <FirstFactor realm={realm} onStep={setStep} onOtherRealm={() => setRealm(undefined)} />
}

function RealmForm({ onRealm }: { readonly onRealm: (realm: string) => void }) {
  return (
    <>
      <RoomHeader title={words.title} />
      <Form submit={words.next} onSubmit={({ realm = '' }) => onRealm(realm)}>
        <Field
          label={words.realm}
          help={words.realmHelp}
          name="realm"
          isRequired
          maxLength={64}
          autoComplete="organization"
          validate={(value) => (/^[A-Za-z0-9_-]*$/.test(value) ? null : words.realmRule)}
          validationBehavior="native"
        />
      </Form>
    </>
  )
}

interface StepProps {
  readonly realm: string
  readonly onStep: (step: Step) => void
  readonly startAgain: ReactNode
}

/** Logs in, and goes on to what the service wants next. */
function useLogin(realm: string, onStep: (step: Step) => void) {
  return useMutation({
    meta: beforeLogin,
    mutationFn: async (proof: Proof) => {
      const { username, password, second } = proof
      const result = await authService.login({ realm, username, password, ...second })
      if (result.step === 'Authenticated') return beginSession()
      if (result.step === 'ChangePassword') return onStep({ kind: 'change', proof })
      const { factors, passkeyOptions } = result
      onStep({ kind: 'second', proof: { username, password }, factors, passkeyOptions })
    },
  })
}

/** A refused login has one sentence, whatever the reason. */
function describe(error: unknown, refused: string): unknown {
  return error instanceof ClientError && error.status === 401 ? refused : error
}

function FirstFactor(props: Omit<StepProps, 'startAgain'> & { readonly onOtherRealm: () => void }) {
  const { realm, onStep, onOtherRealm } = props
  const { data, error, refetch } = useQuery({
    queryKey: ['login.methods', realm],
    queryFn: () => auth.client.call('login.methods', { path: { realm_id: realm } }),
    meta: beforeLogin,
  })
  const login = useLogin(realm, onStep)
  const methods = data?.methods ?? []
  return (
    <>
      <RoomHeader title={words.title}>
        <bdi>{words.inRealm(realm)}</bdi>
      </RoomHeader>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton />}
      {methods.includes('password') && (
        <Form
          submit={words.logIn}
          isPending={login.isPending}
          error={describe(login.error, words.wrong)}
          onSubmit={({ username = '', password = '' }) => login.mutate({ username, password })}
        >
          <Field
            label={words.username}
            name="username"
            autoComplete="username"
            isRequired
            validate={(value) => (value.includes(':') ? words.wrong : null)}
            validationBehavior="native"
          />
          <Field
            label={words.password}
            name="password"
            type="password"
            autoComplete="current-password"
            isRequired
          />
        </Form>
      )}
      {data !== undefined && <OtherMethods realm={realm} methods={methods} />}
      <p>
        <button type="button" className="button plain" onClick={onOtherRealm}>
          {words.otherRealm}
        </button>
      </p>
    </>
  )
}

function OtherMethods({ realm, methods }: { readonly realm: string; readonly methods: readonly string[] }) {
  const hasPassword = methods.includes('password')
  const others = methods.filter((name) => name === 'passkey' || name === 'saml')
  if (!hasPassword && others.length === 0) return <p className="notice">{words.noMethod}</p>
  if (others.length === 0) return null
  const returnTo = new URLSearchParams({ return_to: window.location.pathname + window.location.search })
  return (
    <>
      {hasPassword && <p className="divider">{words.or}</p>}
      <div className="form">
        {others.includes('passkey') && <PasskeyAlone realm={realm} />}
        {others.includes('saml') && (
          <a className="button" href={`/saml/${encodeURIComponent(realm)}/login?${returnTo}`}>
            {words.withSaml}
          </a>
        )}
      </div>
    </>
  )
}

function PasskeyAlone({ realm }: { readonly realm: string }) {
  const login = useMutation({
    meta: beforeLogin,
    mutationFn: async () => {
      const options = await auth.client.call('passkeys.login_options', { query: { realm } })
      const credential = await requestPasskey(options)
      await auth.client.call('passkeys.login', { query: { realm }, body: { credential } })
      await beginSession()
    },
  })
  if (!hasPasskeys()) return <p className="quiet">{words.passkeyUnsupported}</p>
  return (
    <Form
      submit={words.withPasskey}
      isPending={login.isPending}
      error={describePasskeyError(login.error)}
      onSubmit={() => login.mutate()}
    >
      {null}
    </Form>
  )
}

function SecondFactor({
  realm,
  step: { proof, factors, passkeyOptions },
  onStep,
  startAgain,
}: StepProps & { readonly step: Step & { readonly kind: 'second' } }) {
  const login = useLogin(realm, onStep)
  const passkey = useMutation({
    meta: beforeLogin,
    mutationFn: async () => {
      const second = { passkey: await requestPasskey(passkeyOptions) }
      await login.mutateAsync({ ...proof, second })
    },
  })
  return (
    <>
      <RoomHeader title={words.second}>{words.secondHelp(proof.username)}</RoomHeader>
      <Form
        submit={words.logIn}
        isPending={login.isPending}
        error={describe(login.error, words.codeWrong)}
        onSubmit={({ code = '' }) => login.mutate({ ...proof, second: { totpCode: code.trim() } })}
        actions={startAgain}
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
      {factors.includes('passkey') && hasPasskeys() && (
        <>
          <p className="divider">{words.or}</p>
          <Form
            submit={words.secondPasskey}
            isPending={passkey.isPending}
            error={passkey.error instanceof DOMException ? words.passkeyFailed : undefined}
            onSubmit={() => passkey.mutate()}
          >
            {null}
          </Form>
        </>
      )}
    </>
  )
}

/** The old password and the second factor are the proof; a code that was used is asked for again. */
function ChangePassword({ realm, proof, onStep, startAgain }: StepProps & { readonly proof: Proof }) {
  const [differ, setDiffer] = useState(false)
  const { username, password, second } = proof
  const login = useLogin(realm, onStep)
  const change = useMutation({
    meta: beforeLogin,
    mutationFn: async (newPassword: string) => {
      await authService.changePassword({ realm, username, password, newPassword, ...second })
      await login.mutateAsync({ username, password: newPassword })
    },
  })
  return (
    <>
      <RoomHeader title={words.change}>{words.changeHelp}</RoomHeader>
      <Form
        submit={words.changeAndLogIn}
        isPending={change.isPending}
        error={differ ? words.differ : change.error}
        onSubmit={({ first = '', again = '' }) => {
          setDiffer(first !== again)
          if (first === again) change.mutate(first)
        }}
        actions={startAgain}
      >
        <Field
          label={words.newPassword}
          name="first"
          type="password"
          autoComplete="new-password"
          isRequired
        />
        <Field
          label={words.repeatPassword}
          name="again"
          type="password"
          autoComplete="new-password"
          isRequired
        />
      </Form>
    </>
  )
}
