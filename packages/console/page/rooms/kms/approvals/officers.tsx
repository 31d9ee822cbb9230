import { ClientError, type Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useMe } from '../../../frame/session.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.officers
type Officers = Reply<'access.officers.status'>
type Ceremony = Reply<'access.officers.ceremony'>

/** Crypto officers, and the ceremony that activates them. */
export function Room() {
  const { data, error, refetch } = kms.useOperation('access.officers.status', {})
  const header = (
    <RoomHeader title={words.title} actions={<Link to="/ui/approvals">{words.approvals}</Link>}>
      {words.description}
    </RoomHeader>
  )
  if (error !== null)
    return (
      <>
        {header}
        <Failure error={error} retry={() => void refetch()} />
      </>
    )
  return (
    <>
      {header}
      {data === undefined ? <Skeleton /> : data.enabled ? <Listed officers={data} /> : <NotListed />}
    </>
  )
}

function NotListed() {
  return (
    <Empty title={words.notListed}>
      <p>{words.notListedHelp}</p>
    </Empty>
  )
}

function Listed({ officers }: { readonly officers: Officers }) {
  const me = useMe('kms').data?.name ?? ''
  const { users, active_co_users: active, require_ceremony: hasCeremony } = officers
  const columns: readonly Column<string>[] = [
    {
      title: words.user,
      value: (user) => user,
      cell: (user) => (
        <bdi>
          {user} {user === me && <span className="quiet">({words.you})</span>}
        </bdi>
      ),
    },
    {
      title: words.state,
      value: (user) => (active.includes(user) ? words.active : words.dormant),
      cell: (user) =>
        active.includes(user) ? (
          <Status kind="good">{words.active}</Status>
        ) : (
          <Status kind="neutral">{words.dormant}</Status>
        ),
    },
    ...(hasCeremony
      ? [
          {
            title: words.disable,
            value: () => undefined,
            cell: (user: string) => active.includes(user) && <Disable user={user} />,
          },
        ]
      : []),
  ]
  return (
    <>
      <DataTable
        caption={words.caption}
        columns={columns}
        rows={users}
        rowKey={(user) => user}
        command="warder officers status"
        empty={<NotListed />}
      />
      {hasCeremony ? (
        <CeremonyPart me={me} isActive={officers.is_crypto_officer} />
      ) : (
        <p className="notice">{words.noCeremony}</p>
      )}
    </>
  )
}

function Disable({ user }: { readonly user: string }) {
  const { mutateAsync } = kms.useAct('access.officers.disable')
  const disable = async (): Promise<void> => {
    await mutateAsync({ body: { target_user: user } })
    showToast(words.disabled(user))
  }
  return (
    <Confirm verb={words.disable} title={words.disableTitle(user)} onConfirm={disable}>
      <p>{words.disableHelp(user)}</p>
    </Confirm>
  )
}

function CeremonyPart({ me, isActive }: { readonly me: string; readonly isActive: boolean }) {
  const { data, error, refetch } = kms.useOperation('access.officers.ceremony', {})
  const isNone = error instanceof ClientError && error.status === 404
  return (
    <section>
      <h2>{words.ceremony}</h2>
      {error !== null && !isNone && <Failure error={error} retry={() => void refetch()} />}
      {isNone && <p>{words.noneYet}</p>}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && <Shares ceremony={data} me={me} isActive={isActive} />}
      <div className="actions">
        <Begin />
        {!isActive && <AskActivation />}
      </div>
    </section>
  )
}

function Shares(props: { readonly ceremony: Ceremony; readonly me: string; readonly isActive: boolean }) {
  const { ceremony, me, isActive } = props
  const own = ceremony.officers.find(({ user }) => user === me)?.share_id
  const columns: readonly Column<Ceremony['officers'][number]>[] = [
    { title: words.shareOf, value: ({ user }) => user },
    { title: words.share, value: (row) => row.share_id, cell: (row) => <code>{row.share_id}</code> },
    {
      title: words.give,
      value: () => undefined,
      cell: ({ user }) => own !== undefined && user !== me && <Give share={own} user={user} />,
    },
  ]
  return (
    <>
      <p>
        {words.ceremonyHelp(ceremony.threshold)} {words.begunBy} <bdi>{ceremony.created_by}</bdi>.
      </p>
      {ceremony.active_until !== null && (
        <p>
          {words.activeUntil} <Time at={ceremony.active_until} />
        </p>
      )}
      <DataTable
        caption={words.ceremony}
        columns={columns}
        rows={ceremony.officers}
        rowKey={({ share_id: share }) => share}
        command="warder officers status"
        empty={<p>{words.noneYet}</p>}
      />
      {!isActive && own !== undefined && <ActivateByShares ceremony={ceremony} own={own} />}
    </>
  )
}

function Give({ share, user }: { readonly share: string; readonly user: string }) {
  const { mutateAsync } = kms.useAct('access.grant')
  const give = async (): Promise<void> => {
    await mutateAsync({ body: { unique_identifier: share, user_id: user, operation_types: ['get'] } })
    showToast(words.given(user))
  }
  return (
    <Confirm verb={words.give} title={words.giveTitle(user)} onConfirm={give}>
      <p>{words.giveHelp(user)}</p>
    </Confirm>
  )
}

/** Uses the own share and those that other officers gave. */
function ActivateByShares({ ceremony, own }: { readonly ceremony: Ceremony; readonly own: string }) {
  const { data = [] } = kms.useOperation('access.obtained', { query: { after: ceremony.id, limit: '255' } })
  const { mutate, error, isPending } = kms.useAct('access.officers.activate')
  const given = new Set(
    data.filter(({ operations }) => operations.includes('get')).map(({ object_id: id }) => id),
  )
  const shares = ceremony.officers
    .map(({ share_id: share }) => share)
    .filter((share) => share === own || given.has(share))
  const { threshold } = ceremony
  const activate = (): void =>
    mutate(
      { body: { share_ids: shares.slice(0, threshold) } },
      { onSuccess: () => showToast(words.activated) },
    )
  return (
    <>
      <p>{words.activateHelp(shares.length, threshold)}</p>
      {error !== null && <Failure error={error} />}
      <p>
        <button
          type="button"
          className="button primary"
          disabled={shares.length < threshold || isPending}
          onClick={activate}
        >
          {words.activate}
        </button>
      </p>
    </>
  )
}

function Begin() {
  const { mutateAsync } = kms.useAct('access.officers.begin')
  const [everybody, setEverybody] = useState(false)
  const begin = async (): Promise<void> => {
    await mutateAsync({ body: { everybody } })
    showToast(words.begun)
  }
  return (
    <Confirm verb={words.begin} title={words.beginTitle} onConfirm={begin}>
      <p>{words.beginHelp}</p>
      <p>
        <label>
          <input
            type="checkbox"
            checked={everybody}
            onChange={({ target }) => setEverybody(target.checked)}
          />{' '}
          {words.allShares}
        </label>
      </p>
    </Confirm>
  )
}

function AskActivation() {
  const { mutate, error, isPending } = kms.useAct('access.approvals.ask')
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={isPending}
        onClick={() =>
          mutate({ body: { operation: 'activate' } }, { onSuccess: () => showToast(words.asked) })
        }
      >
        {words.ask}
      </button>
      {error !== null && <Failure error={error} />}
    </>
  )
}
