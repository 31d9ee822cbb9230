import { useEffect } from 'react'
import { kms } from '../../../api.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import { AccessHeader } from './frame.tsx'
import { listColumns, type ReportRow, rowKey } from './report-rows.tsx'

const words = texts.tagGrants

/** Rights by tags of keys: who has them, and grants on the own keys. */
export function Room() {
  return (
    <>
      <AccessHeader current="tags" title={words.title}>
        {words.description}
      </AccessHeader>
      <Grant />
      <Rights />
    </>
  )
}

function Grant() {
  const { mutate, error, isPending } = kms.useAct('access.grant')
  const grant = ({ tag = '', user = '', rights = '' }: Readonly<Record<string, string>>): void =>
    mutate(
      { body: { tag, user_id: user.trim(), operation_types: rights.split(/[\s,]+/).filter(Boolean) } },
      { onSuccess: ({ user_id: granted }) => showToast(words.given(granted, tag)) },
    )
  return (
    <section className="filters">
      <h2>{words.grant}</h2>
      <Form submit={words.give} onSubmit={grant} error={error} isPending={isPending}>
        <Field label={words.tag} help={words.tagHelp} name="tag" isRequired />
        <Field label={words.grantee} help={words.granteeHelp} name="user" isRequired />
        <Field label={words.rights} help={words.rightsHelp} name="rights" isRequired />
      </Form>
    </section>
  )
}

function Rights() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'access.report',
    { query: { way: 'tag' } },
    (page) => page,
  )
  const me = kms.useOperation('server.me', {}).data?.user
  const isSearching = rows?.length === 0 && hasNextPage
  useEffect(() => {
    if (isSearching && !isFetchingNextPage) void fetchNextPage()
  }, [isSearching, isFetchingNextPage, fetchNextPage])
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  const columns: readonly Column<ReportRow>[] = [
    ...listColumns.filter(({ title }) => shownColumns.has(title)),
    {
      title: words.revoke,
      value: () => undefined,
      cell: (row) => row.owner_id === me && <Revoke row={row} />,
    },
  ]
  return (
    <DataTable
      caption={words.caption}
      columns={columns}
      rows={isSearching ? undefined : rows}
      rowKey={rowKey}
      command="warder access report --way tag"
      empty={
        <Empty title={words.empty}>
          <p>{words.emptyHelp}</p>
          <CodeBlock
            label={words.emptyHelp}
            samples={[{ title: 'Command', code: 'warder access grant --tag prod group:ops encrypt' }]}
          />
        </Empty>
      }
      loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
      isLoadingMore={isFetchingNextPage}
    />
  )
}

const shownColumns: ReadonlySet<string> = new Set([
  ...[texts.access.user, texts.access.key, texts.access.right],
  ...[texts.access.tag, texts.access.grantedTo, texts.access.owner],
])

function Revoke({ row }: { readonly row: ReportRow }) {
  const { mutateAsync } = kms.useAct('access.revoke')
  const { tag = '', right, granted_to: user = row.user_id } = row
  const revoke = async (): Promise<void> => {
    await mutateAsync({ body: { tag, user_id: user, operation_types: [right] } })
    showToast(words.revoked)
  }
  return (
    <Confirm verb={words.revoke} title={words.revokeTitle(right, user, tag)} onConfirm={revoke}>
      <p>{words.revokeHelp(user)}</p>
    </Confirm>
  )
}
