import { useQuery } from '@tanstack/react-query'
import { type ReactNode, type RefObject, useEffect, useRef } from 'react'
import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useInfo } from '../../../frame/session.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { useShownOnce } from '../../../parts/secret.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { Password } from '../account/password.tsx'
import { type Account, AccountProvider } from '../account/recent-login.tsx'
import { RecoveryCodesDialog } from '../account/recovery-codes.tsx'
import { Totp } from '../account/totp.tsx'
import { FirstUser } from './first-user.tsx'
import { dismiss, type Progress, readProgress, type StepName, steps } from './progress.ts'
import { Trust } from './trust.tsx'

const words = texts.firstSteps

const toAddress = (step: StepName): string => `/ui/first-steps?${new URLSearchParams({ step })}`
const leave = (): void => navigate('/ui/overview')

/** What a new installation needs, step by step. Each can be skipped and done later. */
export function Room({ query }: RoomProps) {
  const account = auth.useOperation('account.get', {})
  const progress = useQuery({ queryKey: ['first-steps'], queryFn: readProgress })
  const error = account.error ?? progress.error
  const wanted = steps.find((step) => step === query.get('step'))
  return (
    <>
      <RoomHeader
        title={words.title}
        actions={
          account.data !== undefined && (
            <button
              type="button"
              className="button"
              onClick={() => {
                dismiss(account.data.session_id)
                leave()
              }}
            >
              {words.dismiss}
            </button>
          )
        }
      >
        {words.description}
      </RoomHeader>
      {error !== null && <Failure error={error} retry={() => void progress.refetch()} />}
      {error === null && (account.data === undefined || progress.data === undefined) && <Skeleton />}
      {account.data !== undefined && progress.data !== undefined && (
        <AccountProvider account={account.data}>
          <Steps account={account.data} progress={progress.data} wanted={wanted} />
        </AccountProvider>
      )}
    </>
  )
}

function Steps(props: {
  readonly account: Account
  readonly progress: Progress
  readonly wanted: StepName | undefined
}) {
  const { account, progress, wanted } = props
  const [codes, setCodes] = useShownOnce<readonly string[]>()
  const current = wanted ?? steps.find((step) => progress[step] === false) ?? 'trust'
  // A step that is done stays until the user goes on.
  useEffect(() => {
    if (wanted === undefined) navigate(toAddress(current), { replace: true })
  }, [wanted, current])
  const heading = useStepFocus(current)
  const next = steps[steps.indexOf(current) + 1]
  return (
    <div className="sections">
      <nav aria-label={words.steps}>
        <ol className="steps">
          {steps.map((step) => (
            <li key={step}>
              <Link to={toAddress(step)} isCurrent={step === current}>
                {words.names[step]}
              </Link>{' '}
              {progress[step] !== undefined && (
                <Status kind={progress[step] ? 'good' : 'warning'}>
                  {progress[step] ? words.done : words.open}
                </Status>
              )}
            </li>
          ))}
        </ol>
      </nav>
      <section className="section" aria-labelledby="step">
        <h2 id="step" ref={heading} tabIndex={-1}>
          {words.names[current]}
        </h2>
        {current === 'password' && <PasswordStep isDone={progress.password === true} />}
        {current === 'factor' && (
          <>
            <p>{progress.factor ? words.factorDone : words.factor}</p>
            <Totp onCodes={setCodes} />
          </>
        )}
        {current === 'user' && (
          <>
            <p>{progress.user ? words.userDone : words.user}</p>
            <FirstUser />
          </>
        )}
        {current === 'trust' && <Trust />}
        {current === 'keys' && <KeysStep />}
      </section>
      <div className="actions">
        <button
          type="button"
          className={progress[current] === false ? 'button' : 'button primary'}
          onClick={() => (next === undefined ? leave() : navigate(toAddress(next)))}
        >
          {next === undefined ? words.finish : progress[current] === false ? words.skip : words.next}
        </button>
      </div>
      {codes !== undefined && (
        <RecoveryCodesDialog username={account.username} codes={codes} onStored={() => setCodes(undefined)} />
      )}
    </div>
  )
}

/** The heading takes the focus when the user goes from one step to another. */
function useStepFocus(current: StepName): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useRef(current)
  useEffect(() => {
    if (shown.current !== current) heading.current?.focus()
    shown.current = current
  }, [current])
  return heading
}

function PasswordStep({ isDone }: { readonly isDone: boolean }) {
  if (isDone) return <p>{words.passwordDone}</p>
  return (
    <>
      <p>{words.password}</p>
      <Password />
    </>
  )
}

/** Rooms of the key management service. */
function KeysStep() {
  const other = useInfo().data?.other
  if (other?.service !== 'kms') return <p>{words.keysUnknown}</p>
  const url = other.url.replace(/\/+$/, '')
  const link = (path: string, text: ReactNode) => (
    <li>
      <a href={`${url}${path}`}>{text}</a>
    </li>
  )
  return (
    <>
      <p>{words.keys}</p>
      <ul>{link('/ui/create-key', words.firstKey)}</ul>
      <p>{words.firstDevice}</p>
      <CodeBlock
        label={words.firstDevice}
        samples={[{ title: texts.parts.command, code: 'warder kmip certificate storage-1' }]}
      />
      <ul>{link('/ui/devices', words.devices)}</ul>
    </>
  )
}
