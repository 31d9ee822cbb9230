import type { Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act, ActForm } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field } from '../../../parts/field.tsx'
import { Link } from '../../../parts/link.tsx'
import { navigate } from '../../../parts/router.ts'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'

const words = texts.certificates
type Authority = Reply<'pki.authorities.list'>[number]

const algorithms = ['ES256', 'ES384', 'RS256', 'EdDSA', 'ML-DSA-65']

export const authorityPath = (id: string): string => `/ui/authorities/${encodeURIComponent(id)}`

const columns: readonly Column<Authority>[] = [
  {
    title: words.subject,
    value: ({ subject }) => subject,
    cell: ({ id, subject }) => (
      <Link to={authorityPath(id)}>
        <bdi>{subject}</bdi>
      </Link>
    ),
  },
  {
    title: words.ends,
    value: (authority) => authority.not_after,
    cell: (authority) => <Time at={authority.not_after} isShort />,
  },
  { title: words.profiles, value: ({ profiles }) => profiles ?? words.allProfiles },
  { title: words.maxDays, value: (authority) => authority.max_days },
  { title: words.id, value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
]

/** Certificate authorities that the user may use. */
export function Room() {
  const pages = kms.usePages('pki.authorities.list', {}, (page) => page)
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
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
          rowKey={({ id }) => id}
          command="warder pki authorities"
          empty={<Empty title={words.empty}>{words.emptyHelp}</Empty>}
          loadMore={hasNextPage ? () => void fetchNextPage() : undefined}
          isLoadingMore={isFetchingNextPage}
        />
      )}
      <Act title={words.create}>
        <Create authorities={rows ?? []} />
      </Act>
    </>
  )
}

function Create({ authorities }: { readonly authorities: readonly Authority[] }) {
  const { mutateAsync } = kms.useAct('pki.authorities.create')
  return (
    <ActForm
      submit={words.create}
      command={({ subject = '', issuer = '', alg = '', days = '' }) =>
        toCommand('warder pki create', [subject || 'SUBJECT'], { issuer, alg, days })
      }
      act={async ({ subject = '', issuer = '', alg = '', days = '' }) => {
        const { id } = await mutateAsync({
          body: {
            ...{ subject, alg },
            ...(issuer !== '' && { issuer }),
            ...(days !== '' && { days: Number(days) }),
          },
        })
        navigate(authorityPath(id))
      }}
    >
      <Field label={words.subject} name="subject" help={words.subjectHelp} isRequired />
      <Choice
        label={words.issuer}
        name="issuer"
        options={[
          { value: '', text: words.itself },
          ...authorities.map(({ id, subject }) => ({ value: id, text: subject })),
        ]}
      />
      <Choice
        label={words.algorithm}
        name="alg"
        options={algorithms.map((alg) => ({ value: alg, text: alg }))}
      />
      <Field label={words.days} name="days" inputMode="numeric" pattern="[0-9]{1,5}" help={words.daysHelp} />
    </ActForm>
  )
}
