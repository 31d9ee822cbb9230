import type { Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field, Form } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import { Lines, readLines } from './lines.tsx'

const words = texts.groups
type Group = Reply<'access.groups.list'>[number]

export const groupPath = (name: string): string => `/ui/groups/${encodeURIComponent(name)}`

const columns: readonly Column<Group>[] = [
  {
    title: words.name,
    value: ({ name }) => name,
    cell: ({ name }) => (
      <Link to={groupPath(name)}>
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  { title: words.grantName, value: (group) => group.user_id },
  { title: words.createdBy, value: (group) => group.created_by },
  {
    title: words.changed,
    value: (group) => group.changed_at,
    cell: (group) => <Time at={group.changed_at} isShort />,
  },
  { title: words.version, value: ({ version }) => version },
]

/** Groups that the user owns or is in; crypto officers see all. */
export function Room() {
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = kms.usePages(
    'access.groups.list',
    {},
    (page) => page,
  )
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          caption={words.caption}
          columns={columns}
          rows={rows}
          rowKey={({ name }) => name}
          command="warder access group list"
          empty={
            <Empty title={words.empty}>
              <p>{words.emptyHelp}</p>
              <CodeBlock
                label={words.emptyHelp}
                samples={[{ title: 'Command', code: "warder access group put ops bob 'app:web-*'" }]}
              />
            </Empty>
          }
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
      <Create />
    </>
  )
}

function Create() {
  const { mutate, error, isPending } = kms.useAct('access.groups.replace')
  const create = ({ name = '', members = '' }: Readonly<Record<string, string>>): void =>
    mutate(
      // Version 0: a group that exists is not replaced.
      { path: { name: name.trim() }, body: { members: readLines(members), version: 0 } },
      {
        onSuccess: (group) => {
          showToast(words.created(group.name))
          navigate(groupPath(group.name))
        },
      },
    )
  return (
    <section className="narrow-form">
      <h2>{words.create}</h2>
      <Form submit={words.create} onSubmit={create} error={error} isPending={isPending}>
        <Field label={words.nameField} name="name" isRequired />
        <Lines label={words.members} help={words.membersHelp} name="members" />
      </Form>
    </section>
  )
}
