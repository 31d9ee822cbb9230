import type { Reply } from '@warder/client/browser'
import { useState } from 'react'
import { kms } from '../../../api.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'
import { Block, Unblock } from './block.tsx'
import { AccessHeader } from './frame.tsx'

const words = texts.blocked
type Blocked = Reply<'access.blocked'>[number]

const columns: readonly Column<Blocked>[] = [
  { title: words.user, value: (row) => row.user_id },
  {
    title: words.since,
    value: (row) => new Date(row.blocked_at * 1000).toISOString(),
    cell: (row) => <Time at={row.blocked_at * 1000} isShort />,
  },
  { title: words.by, value: (row) => row.blocked_by },
  { title: words.reason, value: ({ reason }) => reason },
  { title: words.unblock, value: () => undefined, cell: (row) => <Unblock user={row.user_id} /> },
]

/** Users whose requests are rejected. */
export function Room() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'access.blocked',
    {},
    (page) => page,
  )
  return (
    <>
      <AccessHeader current="blocked" title={words.title}>
        {words.description}
      </AccessHeader>
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : (
        <>
          <BlockForm />
          <DataTable
            caption={words.caption}
            columns={columns}
            rows={rows}
            rowKey={(row) => row.user_id}
            command="warder access blocked"
            empty={
              <Empty title={words.empty}>
                <p>{words.emptyHelp}</p>
              </Empty>
            }
            loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
            isLoadingMore={isFetchingNextPage}
          />
        </>
      )}
    </>
  )
}

function BlockForm() {
  const [chosen, setChosen] = useState<{ readonly user: string; readonly reason: string }>()
  return (
    <section className="filters">
      <h2>{words.act}</h2>
      <Form
        submit={words.prepare}
        onSubmit={({ user = '', reason = '' }) => setChosen({ user: user.trim(), reason })}
        actions={chosen !== undefined && <Block key={chosen.user} {...chosen} />}
      >
        <Field label={words.userField} help={words.userHelp} name="user" isRequired />
        <Field label={words.reason} help={words.reasonHelp} name="reason" maxLength={1024} />
      </Form>
    </section>
  )
}
