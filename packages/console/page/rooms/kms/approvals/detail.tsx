import { ClientError } from '@warder/client/browser'
import { type ReactNode, useState } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useMe } from '../../../frame/session.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { Changes, useRequestedKey } from './changes.tsx'
import {
  type ApprovalRequest,
  formatObject,
  formatRequest,
  formatRequester,
  formatState,
  isOnKey,
  isRunning,
  stateKinds,
} from './requests.ts'

const words = texts.approvals
/** Votes of others appear without a reload. */
const refetchMs = 15_000

/** One request: the link in a notice leads here. */
export function Room({ path: { id = '' } }: RoomProps) {
  const { data, error, refetch } = kms.useOperation(
    'access.approvals.get',
    { path: { id } },
    { refetchInterval: refetchMs },
  )
  if (error instanceof ClientError && error.status === 404) return <Gone />
  if (data === undefined)
    return (
      <>
        <RoomHeader title={words.title} />
        {error === null ? <Skeleton /> : <Failure error={error} retry={() => void refetch()} />}
      </>
    )
  return (
    <>
      <RoomHeader title={words.operations[data.operation]}>
        <Link to="/ui/approvals">{words.back}</Link>
      </RoomHeader>
      <Status kind={stateKinds[data.state] ?? 'neutral'}>{formatState(data.state)}</Status>
      <Facts request={data} />
      <Changes request={data} />
      <Votes request={data} />
      <Decision request={data} />
    </>
  )
}

function Gone() {
  return (
    <>
      <RoomHeader title={words.title} />
      <Empty title={words.gone}>
        <p>{words.goneHelp}</p>
        <Link to="/ui/approvals">{words.back}</Link>
      </Empty>
    </>
  )
}

function Facts({ request }: { readonly request: ApprovalRequest }) {
  return (
    <dl className="facts spaced">
      <dt>{words.object}</dt>
      <dd>{isOnKey(request) ? <KeyName request={request} /> : <bdi>{formatObject(request)}</bdi>}</dd>
      <Parameters request={request} />
      <dt>{words.requester}</dt>
      <dd>
        <bdi>{formatRequester(request)}</bdi>
      </dd>
      <dt>{words.reason}</dt>
      <dd>
        <bdi>{request.reason ?? words.noReason}</bdi>
      </dd>
      <dt>{words.created}</dt>
      <dd>
        <Time at={request.created_at} />
      </dd>
      <dt>{words.until}</dt>
      <dd>
        <Time at={request.until} />
      </dd>
      <dt>{words.hash}</dt>
      <dd>
        <code>{request.hash}</code>
        <div className="quiet">{words.hashHelp}</div>
      </dd>
    </dl>
  )
}

/** Names of the key, as far as the user may see them, and its id. */
function KeyName({ request }: { readonly request: ApprovalRequest }) {
  const { key } = useRequestedKey(request)
  const names = request.key_names ?? []
  return (
    <>
      {names.length > 0 && (
        <>
          <bdi>
            <strong>{names.join(', ')}</strong>
          </bdi>
          <br />
        </>
      )}
      <code>{request.key}</code>
      {key !== undefined && key.tags.length > 0 && (
        <div className="quiet">
          {texts.keys.tags}: <bdi>{key.tags.join(', ')}</bdi>
        </div>
      )}
    </>
  )
}

function Parameters({ request }: { readonly request: ApprovalRequest }) {
  const { operation, user_id: user, operation_types: rights, wrapping_key: wrapping } = request
  const facts: readonly (readonly [title: string, value: ReactNode])[] = [
    ...(user === undefined ? [] : [[words.grantee, user] as const]),
    ...(rights === undefined ? [] : [[words.rights, rights.join(', ')] as const]),
    ...(operation === 'export'
      ? [[words.form, wrapping === undefined ? words.formAny : words.formWrapped(wrapping)] as const]
      : []),
    ...(request.region === undefined ? [] : [[words.region, request.region] as const]),
    ...(request.uri_prefix === undefined ? [] : [[words.path, request.uri_prefix] as const]),
    ...(request.restore === undefined
      ? []
      : [
          [words.backupOf, <Time key="made" at={request.restore.made_at} />] as const,
          [words.restoredAt, <Time key="restored" at={request.restore.restored_at} />] as const,
        ]),
  ]
  return facts.map(([title, value]) => (
    <div key={title} className="fact">
      <dt>{title}</dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </div>
  ))
}

function Votes({ request }: { readonly request: ApprovalRequest }) {
  const { approved_by: approved, refused_by: refused, needed, state } = request
  const missing = needed - approved.length
  return (
    <section>
      <h2>{words.votesTitle}</h2>
      <dl className="facts">
        <dt>{words.votes}</dt>
        <dd>
          {words.votesOf(approved.length, needed)}
          {state === 'open' && missing > 0 && <div className="quiet">{words.missing(missing)}</div>}
        </dd>
        <dt>{words.approvedBy}</dt>
        <dd>
          <bdi>{approved.length === 0 ? words.noVotes : approved.join(', ')}</bdi>
        </dd>
        <dt>{words.refusedBy}</dt>
        <dd>
          <bdi>{refused.length === 0 ? words.noVotes : refused.join(', ')}</bdi>
          {request.refusal_reasons?.map(({ user, reason }) => (
            <div key={user}>
              <bdi>{words.refusalReason(user, reason)}</bdi>
            </div>
          ))}
        </dd>
      </dl>
    </section>
  )
}

/** What this user can do about the request, and why nothing, if so. */
function Decision({ request }: { readonly request: ApprovalRequest }) {
  const me = useMe('kms').data?.name ?? ''
  const officers = kms.useOperation('access.officers.status', {}).data
  const { requester, state, approved_by: approved, refused_by: refused } = request
  if (!isRunning(request)) return <p className="quiet">{words.closed}</p>
  const hasVoted = approved.includes(me) || refused.includes(me)
  const mayDecide = state === 'open' && requester !== me && !hasVoted && officers?.users.includes(me) === true
  return (
    <section>
      <h2>{words.decide}</h2>
      {state === 'approved' && request.operation in words.next && (
        <p className="notice">{words.next[request.operation as keyof typeof words.next]}</p>
      )}
      {hasVoted && <p>{words.voted(approved.includes(me))}</p>}
      {state === 'open' && requester === me && officers?.enabled === true && <p>{words.own}</p>}
      {officers?.enabled === false && <p>{words.onlyOfficers}</p>}
      <div className="actions decision">
        {mayDecide && <Approve request={request} />}
        {mayDecide && <Refuse request={request} />}
        {requester === me && <Withdraw request={request} />}
      </div>
      {mayDecide && (
        <>
          <p className="quiet">{words.credential}</p>
          <CodeBlock
            label={words.approve}
            samples={[
              { title: words.approve, code: `warder officers approve ${quoteShell(request.id)}` },
              { title: words.refuse, code: `warder officers refuse ${quoteShell(request.id)}` },
            ]}
          />
        </>
      )}
    </section>
  )
}

interface ActProps {
  readonly request: ApprovalRequest
}

/** Operations whose last approval permits something that the requester then does. */
const usedLater: readonly ApprovalRequest['operation'][] = ['export', 'access_key', 'settings', 'root_key']

function Approve({ request }: ActProps) {
  const { mutateAsync } = kms.useAct('access.approvals.approve')
  const { id, hash, needed, approved_by: approved, operation } = request
  const isLast = approved.length + 1 >= needed
  const approve = async (): Promise<void> => {
    const { state } = await mutateAsync({ path: { id }, body: { hash } })
    showToast(state === 'done' ? words.doneToast : words.approvedToast)
  }
  return (
    <Confirm verb={words.approve} title={words.approveTitle(formatRequest(request))} onConfirm={approve}>
      <p>
        {!isLast ? words.approveMore : usedLater.includes(operation) ? words.approveUse : words.approveLast}
      </p>
      <p>{words.approveFinal}</p>
    </Confirm>
  )
}

function Refuse({ request }: ActProps) {
  const { mutateAsync } = kms.useAct('access.approvals.refuse')
  const { id, hash } = request
  const [reason, setReason] = useState('')
  const refuse = async (): Promise<void> => {
    await mutateAsync({ path: { id }, body: { hash, ...(reason.trim() !== '' && { reason }) } })
    showToast(words.refusedToast)
  }
  return (
    <Confirm verb={words.refuse} title={words.refuseTitle(formatRequest(request))} onConfirm={refuse}>
      <p>{words.refuseHelp}</p>
      <Field
        label={words.refuseReason}
        help={words.refuseReasonHelp}
        value={reason}
        onChange={setReason}
        maxLength={1024}
      />
    </Confirm>
  )
}

function Withdraw({ request }: ActProps) {
  const { mutateAsync } = kms.useAct('access.approvals.withdraw')
  const withdraw = async (): Promise<void> => {
    await mutateAsync({ path: { id: request.id } })
    showToast(words.withdrawnToast)
  }
  return (
    <Confirm verb={words.withdraw} title={words.withdrawTitle(formatRequest(request))} onConfirm={withdraw}>
      <p>{words.withdrawHelp}</p>
    </Confirm>
  )
}
