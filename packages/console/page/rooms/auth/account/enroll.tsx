import { useMutation } from '@tanstack/react-query'
import { type AuthReply, ClientError } from '@warder/client/browser'
import { useEffect, useState } from 'react'
import { auth, beforeLogin } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { describeError } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { useShownOnce } from '../../../parts/secret.tsx'
import { texts } from '../../../texts.ts'
import { EnrollmentForm } from './enrollment.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

const words = texts.enroll

/** The token and what the service gave for it. */
interface Enrolling {
  readonly token: string
  readonly options: AuthReply<'totp.link_options'>
}

/** Browsers do not send the fragment to the service. It leaves the address bar, and so the history, at once. */
function takeToken(): string {
  const token = window.location.hash.slice(1)
  if (token !== '') window.history.replaceState(null, '', window.location.pathname)
  return token
}

/** A second factor for a one-time token, without a session. */
export function Room() {
  const [enrolling, setEnrolling] = useShownOnce<Enrolling>()
  const [codes, setCodes] = useShownOnce<readonly string[]>()
  const [user, setUser] = useState<{ readonly realm: string; readonly username: string }>()
  const begin = useMutation({
    meta: beforeLogin,
    gcTime: 0,
    mutationFn: async (token: string) => {
      setEnrolling({ token, options: await auth.client.call('totp.link_options', { body: { token } }) })
    },
  })
  const { mutate } = begin
  useEffect(() => {
    const take = (): void => {
      const token = takeToken()
      if (token !== '') mutate(token)
    }
    take()
    // Another link, opened in the same tab.
    window.addEventListener('hashchange', take)
    return () => window.removeEventListener('hashchange', take)
  }, [mutate])
  const confirm = useMutation({
    meta: beforeLogin,
    gcTime: 0,
    mutationFn: async (code: string) => {
      if (enrolling === undefined) return
      const { token, options } = enrolling
      const body = { token, enrollment: options.enrollment, code }
      const { recovery_codes: fresh } = await auth.client.call('totp.link_enroll', { body })
      setUser({ realm: options.realm_id, username: options.username })
      setCodes(fresh)
      setEnrolling(undefined)
    },
  })
  return (
    <div className="narrow">
      <RoomHeader title={words.title}>{user === undefined ? words.help : undefined}</RoomHeader>
      {enrolling !== undefined ? (
        <>
          <p>
            <bdi>{words.whose(`${enrolling.options.realm_id}/${enrolling.options.username}`)}</bdi>
          </p>
          <EnrollmentForm
            enrollment={enrolling.options}
            isPending={confirm.isPending}
            error={describe(confirm.error)}
            onCode={(code) => confirm.mutate(code)}
            onCancel={() => setEnrolling(undefined)}
          />
        </>
      ) : user === undefined ? (
        <TokenForm isPending={begin.isPending} error={describe(begin.error)} onToken={mutate} />
      ) : codes !== undefined ? (
        <section aria-labelledby="codes">
          <h2 id="codes">{texts.recovery.shown}</h2>
          <RecoveryCodes username={user.username} codes={codes} onStored={() => setCodes(undefined)} />
        </section>
      ) : (
        <>
          <p>{words.done}</p>
          <Link to={`/ui/login?${new URLSearchParams({ realm: user.realm })}`} className="button primary">
            {words.logIn}
          </Link>
        </>
      )}
    </div>
  )
}

/** Whether it was used, has expired or never existed: the service says it in one sentence. */
function describe(error: unknown): unknown {
  return error instanceof ClientError && error.status === 401 ? words.refused : error
}

function TokenForm(props: {
  readonly isPending: boolean
  readonly error: unknown
  readonly onToken: (token: string) => void
}) {
  const { isPending, error, onToken } = props
  return (
    <>
      {error !== null && (
        <p className="notice danger" role="alert">
          {typeof error === 'string' ? error : describeError(error)}
        </p>
      )}
      <Form submit={words.next} isPending={isPending} onSubmit={({ token = '' }) => onToken(token.trim())}>
        <Field
          label={words.token}
          help={words.tokenHelp}
          name="token"
          isRequired
          autoComplete="off"
          spellCheck="false"
          validate={(value) => (/^\s*[\w-]{43}\s*$/.test(value) ? null : words.tokenRule)}
        />
      </Form>
    </>
  )
}
