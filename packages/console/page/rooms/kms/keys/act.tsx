import { ClientError, type Input } from '@warder/client/browser'
import { type ReactNode, useState } from 'react'
import { kms } from '../../../api.ts'
import { ActForm } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

/** A request for approval of something that was refused without one. */
export type ApprovalRequest = Input<'access.approvals.ask'>['body']

export const needsApproval = (error: unknown): boolean =>
  error instanceof ClientError && error.approval !== undefined

/** A button that changes something at once. What goes wrong is shown beside it. */
export function Act(props: {
  readonly verb: string
  readonly done: string
  readonly run: () => Promise<unknown>
}) {
  const { verb, done, run } = props
  const [error, setError] = useState<unknown>()
  const [isPending, setIsPending] = useState(false)
  const start = async (): Promise<void> => {
    setIsPending(true)
    setError(undefined)
    try {
      await run()
      showToast(done)
    } catch (thrown) {
      setError(thrown)
    } finally {
      setIsPending(false)
    }
  }
  return (
    <>
      <button type="button" className="button" disabled={isPending} onClick={() => void start()}>
        {verb}
      </button>
      {error !== undefined && <Failure error={error} />}
    </>
  )
}

/** `Confirm`, and what to do if the step needs the approval of crypto officers. */
export function GuardedAct(props: {
  readonly verb: string
  readonly title: string
  readonly children: ReactNode
  readonly done: string
  /** For steps that may need an approval. */
  readonly request?: ApprovalRequest
  readonly run: () => Promise<unknown>
}) {
  const { done, request, run, ...confirm } = props
  const [isRefused, setIsRefused] = useState(false)
  const start = async (): Promise<void> => {
    setIsRefused(false)
    try {
      await run()
      showToast(done)
    } catch (error) {
      if (request === undefined || !needsApproval(error)) throw error
      setIsRefused(true)
    }
  }
  return (
    <>
      <Confirm {...confirm} onConfirm={start} />
      {isRefused && request !== undefined && <NeedsApproval request={request} />}
    </>
  )
}

/** Requests the approval of crypto officers, with a reason, and leads to the request. */
export function NeedsApproval({ request }: { readonly request: ApprovalRequest }) {
  const words = texts.key.approval
  const ask = kms.useAct('access.approvals.ask')
  const { operation, key = '', user_id: user, operation_types: rights = [] } = request
  const names = [operation, key ?? '', ...(user == null ? [] : [user]), ...(rights ?? [])]
  return (
    <section className="notice" aria-label={words.title}>
      <strong>{words.title}</strong>
      {ask.data === undefined ? (
        <ActForm
          submit={words.request}
          command={({ reason = '' }) => toCommand('warder officers ask', names, { reason: reason.trim() })}
          act={({ reason = '' }) =>
            ask.mutateAsync({ body: { ...request, ...(reason.trim() !== '' && { reason: reason.trim() }) } })
          }
        >
          <Field label={words.reason} help={words.reasonHelp} name="reason" maxLength={1024} />
        </ActForm>
      ) : (
        <p role="status">
          {words.requested} <Link to={`/ui/approvals/${encodeURIComponent(ask.data.id)}`}>{words.open}</Link>
        </p>
      )}
    </section>
  )
}
