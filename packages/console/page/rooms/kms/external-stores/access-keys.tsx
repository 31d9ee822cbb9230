import type { Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { Act, ActForm, CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { CopyButton } from '../../../parts/copy.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Choice, Field } from '../../../parts/field.tsx'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.accessKeys
type AccessKey = Reply<'external.aws.keys.list'>[number]

/** After the prefix of each key store (XKS Proxy API). */
export const awsSuffix = '/kms/xks/v1'

const columns: readonly Column<AccessKey>[] = [
  { title: words.id, value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  {
    title: words.state,
    value: ({ ended }) => ended ?? 'active',
    cell: ({ ended }) => (
      <Status kind={ended === null ? 'good' : 'danger'}>
        {ended === null ? words.active : words.ended[ended]}
      </Status>
    ),
  },
  { title: words.region, value: ({ region }) => region },
  { title: words.prefix, value: ({ uri_prefix: prefix }) => prefix },
  {
    title: words.created,
    value: (key) => key.created_at,
    cell: (key) => <Time at={key.created_at} isShort />,
  },
  { title: words.by, value: (key) => key.created_by },
  { title: words.delete, value: () => undefined, cell: (key) => <Delete accessKey={key} /> },
]

/** Credentials of AWS KMS. The secret of a new one is shown once. */
export function AccessKeys({ paths }: { readonly paths: readonly string[] }) {
  const { data, error, refetch } = kms.useOperation('external.aws.keys.list', {})
  return (
    <div className="part">
      <h2>{words.title}</h2>
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          caption={words.title}
          columns={columns}
          rows={data}
          rowKey={({ id }) => id}
          command="warder external aws show"
          empty={<p>{words.none}</p>}
        />
      )}
      <Create prefixes={paths.map((path) => path.slice(0, -awsSuffix.length))} />
    </div>
  )
}

function Create({ prefixes }: { readonly prefixes: readonly string[] }) {
  const create = kms.useAct('external.aws.keys.create')
  const [made, show] = useShownOnce<Reply<'external.aws.keys.create'>>()
  return (
    <>
      {made !== undefined && (
        <>
          <p className="actions">
            {words.id} <code>{made.id}</code> <CopyButton text={made.id} label={words.copyId} />
          </p>
          <Secret label={words.secret} value={made.secret} />
        </>
      )}
      <Act title={words.create}>
        <ActForm
          submit={words.create}
          done={words.createdToast}
          command={({ region, prefix }) =>
            toCommand('warder external aws new-credential', [], { region: region || 'REGION', prefix })
          }
          act={async ({ region = '', prefix = '' }) => {
            show(await create.mutateAsync({ body: { region, uri_prefix: prefix } }))
          }}
        >
          <p className="quiet">{words.createHelp}</p>
          <Field label={words.region} name="region" help={words.regionHelp} isRequired autoComplete="off" />
          <Choice
            label={words.prefix}
            name="prefix"
            options={prefixes.map((prefix) => ({ value: prefix, text: `${prefix}${awsSuffix}` }))}
          />
        </ActForm>
      </Act>
    </>
  )
}

function Delete({ accessKey: { id, uri_prefix: prefix, region } }: { readonly accessKey: AccessKey }) {
  const remove = kms.useAct('external.aws.keys.delete')
  return (
    <Confirm
      verb={words.delete}
      title={words.deleteTitle(id)}
      onConfirm={async () => {
        await remove.mutateAsync({ path: { id } })
        showToast(words.deleted)
      }}
    >
      <p>{words.deleteDoes(region, prefix)}</p>
      <p>{words.deleteBreaks}</p>
      <CommandCode command={toCommand('warder external aws remove-credential', [id])} />
    </Confirm>
  )
}
