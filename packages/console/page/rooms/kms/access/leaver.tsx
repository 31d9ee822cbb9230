import type { Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { useMe } from '../../../frame/session.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { navigate } from '../../../parts/router.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { Block } from './block.tsx'
import { AccessHeader, useIsGovernor } from './frame.tsx'

const words = texts.leaver
type Item = Reply<'access.leaver'>['items'][number]

const outcomeKinds = { deleted: 'neutral', needs_new_owner: 'danger', stays: 'warning' } as const

const columns: readonly Column<Item>[] = [
  {
    title: words.what,
    value: ({ kind }) => kind,
    cell: ({ kind }) => (words.kinds as Readonly<Record<string, string>>)[kind] ?? kind,
  },
  { title: words.count, value: ({ count }) => count },
  {
    title: words.outcome,
    value: ({ outcome }) => outcome,
    cell: ({ outcome }) => <Status kind={outcomeKinds[outcome]}>{words.outcomes[outcome]}</Status>,
  },
  { title: words.names, value: ({ names }) => names },
  { title: words.note, value: ({ note }) => note },
]

/** What a user has, and the steps before the user is deleted; the user is in the address. */
export function Room({ query }: RoomProps) {
  const user = query.get('user') ?? ''
  return (
    <>
      <AccessHeader current="leaver" title={words.title}>
        {words.description}
      </AccessHeader>
      <search className="filters" aria-label={words.title}>
        <Form
          key={user}
          submit={words.show}
          onSubmit={({ user: name = '' }) =>
            navigate(`/ui/access/leaver?${new URLSearchParams({ user: name.trim() })}`)
          }
        >
          <Field label={words.user} name="user" defaultValue={user} isRequired />
        </Form>
      </search>
      {user === '' ? (
        <Empty title={words.ask}>
          <p>{words.askHelp}</p>
        </Empty>
      ) : (
        <Leaver key={user} user={user} />
      )}
    </>
  )
}

function Leaver({ user }: { readonly user: string }) {
  const { data, error, refetch } = kms.useOperation('access.leaver', { query: { user_id: user } })
  const isGovernor = useIsGovernor()
  const me = useMe('kms').data?.name
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  if (data === undefined) return <Skeleton />
  const { items } = data
  const keys = items.find(({ kind }) => kind === 'keys')?.count ?? 0
  return (
    <>
      <DataTable
        caption={words.caption}
        columns={columns}
        rows={items}
        rowKey={({ kind }) => kind}
        command={`warder access report --leaver ${quoteShell(user)}`}
        empty={
          <Empty title={words.nothing(user)}>
            <p>{words.nothingHelp}</p>
          </Empty>
        }
      />
      {isGovernor && me !== data.user_id && <Steps user={data.user_id} keys={keys} />}
    </>
  )
}

function Steps({ user, keys }: { readonly user: string; readonly keys: number }) {
  const [to, setTo] = useState('')
  return (
    <section>
      <h2>{words.steps}</h2>
      <h3>{words.step1}</h3>
      <p>{words.step1Help}</p>
      <p>
        <Block user={user} />
      </p>
      <h3>{words.step2}</h3>
      <p>{words.step2Help}</p>
      <div className="filters">
        <Form
          submit={words.prepare}
          onSubmit={({ to: name = '' }) => setTo(name.trim())}
          actions={to !== '' && <Transfer from={user} to={to} keys={keys} />}
        >
          <Field label={words.newOwner} name="to" isRequired />
        </Form>
      </div>
      <h3>{words.step3}</h3>
      <p>{words.step3Help}</p>
      <CodeBlock label={words.step3} samples={[{ title: 'Command', code: formatDeletion(user) }]} />
    </section>
  )
}

/** Users of realms have the names `realm/username`, but for those of the realm `_`. */
function formatDeletion(user: string): string {
  const [, realm = '_', username = user] = /^([^/]+)\/(.+)$/.exec(user) ?? []
  return `warder admin delete-user ${quoteShell(username)} --realm ${quoteShell(realm)}`
}

function Transfer(props: { readonly from: string; readonly to: string; readonly keys: number }) {
  const { from, to, keys } = props
  const { mutateAsync } = kms.useAct('access.transfer')
  const transfer = async (): Promise<void> => {
    const { objects, grants } = await mutateAsync({ body: { from_user_id: from, to_user_id: to } })
    showToast(words.transferred(objects, grants))
  }
  return (
    <Confirm verb={words.transfer} title={words.transferTitle(from, to)} onConfirm={transfer}>
      <p>{words.transferHelp(from, to, keys)}</p>
    </Confirm>
  )
}
