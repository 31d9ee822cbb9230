import { ClientError, type Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { useMe } from '../../../frame/session.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Form } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { useIsGovernor } from '../access/frame.tsx'
import { listColumns, rowKey } from '../access/report-rows.tsx'
import { Lines, readLines } from './lines.tsx'

const words = texts.groups
type Group = Reply<'access.groups.read'>

/** One group: its members and owners, and the rights that it gives. */
export function Room({ path: { name = '' } }: RoomProps) {
  const { data, error, refetch } = kms.useOperation('access.groups.read', { path: { name } })
  const isGone = error instanceof ClientError && error.status === 404
  return (
    <>
      <RoomHeader title={data === undefined ? words.title : `${words.name} ${data.name}`}>
        <Link to="/ui/groups">{words.all}</Link>
      </RoomHeader>
      {isGone && (
        <Empty title={words.gone}>
          <Link to="/ui/groups">{words.all}</Link>
        </Empty>
      )}
      {error !== null && !isGone && <Failure error={error} retry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton />}
      {data !== undefined && !isGone && <Content group={data} reread={() => void refetch()} />}
    </>
  )
}

interface ContentProps {
  readonly group: Group
  readonly reread: () => void
}

function Content({ group, reread }: ContentProps) {
  const me = useMe('kms').data?.name ?? ''
  const isGovernor = useIsGovernor()
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'access.report',
    { query: { user_id: group.user_id } },
    (page) => page,
  )
  const mayChange = isGovernor || group.owners.includes(me)
  return (
    <>
      <dl className="facts">
        <dt>{words.members}</dt>
        <dd>
          <Names names={group.members} />
        </dd>
        <dt>{words.owners}</dt>
        <dd>
          <Names names={group.owners} />
        </dd>
        <dt>{words.grantName}</dt>
        <dd>
          <code>{group.user_id}</code>
        </dd>
        <dt>{words.createdBy}</dt>
        <dd>
          <bdi>{group.created_by}</bdi>
        </dd>
        <dt>{words.changed}</dt>
        <dd>
          <Time at={group.changed_at} />
        </dd>
        <dt>{words.version}</dt>
        <dd>{group.version}</dd>
      </dl>
      <h2>{words.gets}</h2>
      <p className="quiet">{words.getsHelp}</p>
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          caption={words.gets}
          columns={listColumns}
          rows={rows}
          rowKey={rowKey}
          command={`warder access report --as ${quoteShell(group.user_id)}`}
          empty={<NoRights group={group.user_id} />}
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
      {mayChange && <Edit group={group} reread={reread} />}
      {mayChange && <Remove group={group} rights={rows?.length ?? 0} />}
    </>
  )
}

function Names({ names }: { readonly names: readonly string[] }) {
  return (
    <ul className="plain-list">
      {names.map((name) => (
        <li key={name}>
          <bdi>{name}</bdi>
        </li>
      ))}
    </ul>
  )
}

function NoRights({ group }: { readonly group: string }) {
  return (
    <Empty title={words.getsNothing}>
      <p>{words.getsNothingHelp}</p>
      <CodeBlock
        label={words.getsNothingHelp}
        samples={[{ title: 'Command', code: `warder access grant KEY ${quoteShell(group)} encrypt` }]}
      />
    </Empty>
  )
}

/** The group is replaced only while it has the version that the form began with. */
function Edit({ group, reread }: ContentProps) {
  const [version, setVersion] = useState(group.version)
  const { mutate, error, isPending } = kms.useAct('access.groups.replace')
  const isConflict = version !== group.version
  const save = ({ members = '', owners = '' }: Readonly<Record<string, string>>): void =>
    mutate(
      {
        path: { name: group.name },
        body: { members: readLines(members), owners: readLines(owners), version },
      },
      {
        onSuccess: (saved) => {
          setVersion(saved.version)
          showToast(words.saved)
        },
        // Another user may have changed it.
        onError: reread,
      },
    )
  return (
    <section className="narrow-form">
      <h2>{words.edit}</h2>
      <Form
        submit={words.save}
        onSubmit={save}
        error={error}
        isPending={isPending}
        actions={
          isConflict && (
            <button type="button" className="button" onClick={() => setVersion(group.version)}>
              {words.takeVersion}
            </button>
          )
        }
      >
        <Lines
          label={words.members}
          help={words.membersHelp}
          name="members"
          defaultValue={group.members.join('\n')}
        />
        <Lines
          label={words.owners}
          help={words.ownersHelp}
          name="owners"
          defaultValue={group.owners.join('\n')}
        />
        {isConflict && (
          <p className="notice danger" role="alert">
            {words.conflict}
          </p>
        )}
      </Form>
    </section>
  )
}

function Remove({ group, rights }: { readonly group: Group; readonly rights: number }) {
  const { mutateAsync } = kms.useAct('access.groups.delete')
  const { name, members } = group
  const remove = async (): Promise<void> => {
    await mutateAsync({ path: { name } })
    showToast(words.removed(name))
    navigate('/ui/groups', { replace: true })
  }
  return (
    <p>
      <Confirm verb={words.remove} title={words.removeTitle(name)} onConfirm={remove}>
        <p>{words.removeHelp(members.length, rights)}</p>
      </Confirm>
    </p>
  )
}
