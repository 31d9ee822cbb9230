import { useQueries } from '@tanstack/react-query'
import { type AuthReply, ClientError } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { Act, ActForm, CommandCode, type Values } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Field } from '../../../parts/field.tsx'
import { Secret, useShownOnce } from '../../../parts/secret.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import type { AppRole } from './approle-fields.tsx'
import { isCount, readCount } from './role.tsx'

const words = texts.machines
type SecretId = AuthReply<'approle.secret_id_accessor.lookup'>['data']
type Issued = AuthReply<'approle.secret_id.create'>['data']

/** The list has only accessors; the rest is asked for each, so for the first of many only. */
const maxDescribed = 100

const toEnd = ({ expiration_time: at }: SecretId): string | undefined =>
  at === 0 ? undefined : new Date(at * 1000).toISOString()
const toUses = ({ secret_id_num_uses: uses }: SecretId): string => (uses === 0 ? words.noLimit : String(uses))

/** SecretIDs of an AppRole: accessors, never values; a new one is shown once. */
export function SecretIds({ name, role }: { readonly name: string; readonly role: AppRole['data'] }) {
  const list = auth.useOperation('approle.secret_id.list', { path: { name }, query: { list: 'true' } })
  const accessors = list.data?.data.keys
  const described = useQueries({
    queries: (accessors ?? []).slice(0, maxDescribed).map((accessor) => ({
      queryKey: ['approle.secret_id_accessor.lookup', name, accessor],
      queryFn: () => describe(name, accessor),
    })),
    combine: (results) => ({
      isPending: results.some(({ isPending }) => isPending),
      error: results.find(({ error }) => error !== null)?.error ?? null,
      rows: results.flatMap(({ data }) => (data == null ? [] : [data])),
    }),
  })
  const error = list.error ?? described.error
  const columns: readonly Column<SecretId>[] = [
    {
      title: words.accessor,
      value: (row) => row.secret_id_accessor,
      cell: (row) => <code>{row.secret_id_accessor}</code>,
    },
    { title: words.usesLeft, value: toUses },
    {
      title: words.ends,
      value: toEnd,
      cell: (row) => <Time at={toEnd(row)} isShort />,
    },
    {
      title: words.destroy,
      value: () => undefined,
      cell: (row) => <Destroy name={name} accessor={row.secret_id_accessor} />,
    },
  ]
  return (
    <div className="part">
      <h2>{words.secretIds}</h2>
      {error !== null && <Failure error={error} retry={() => void list.refetch()} />}
      {error === null && (
        <DataTable
          caption={words.secretIds}
          columns={columns}
          rows={accessors === undefined || described.isPending ? undefined : described.rows}
          rowKey={(row) => row.secret_id_accessor}
          command={toCommand('warder admin secret-ids', [name])}
          empty={<p className="quiet">{words.noSecretIds}</p>}
        />
      )}
      {(accessors?.length ?? 0) > maxDescribed && <p>{words.moreSecretIds(maxDescribed)}</p>}
      <Issue name={name} role={role} />
    </div>
  )
}

/** null: used up, expired or destroyed meanwhile. */
async function describe(name: string, accessor: string): Promise<SecretId | null> {
  try {
    const body = { secret_id_accessor: accessor }
    return (await auth.client.call('approle.secret_id_accessor.lookup', { path: { name }, body })).data
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return null
    throw error
  }
}

function Issue({ name, role }: { readonly name: string; readonly role: AppRole['data'] }) {
  const create = auth.useAct('approle.secret_id.create')
  const [issued, show] = useShownOnce<Issued & { readonly values: Values }>()
  return (
    <>
      {issued !== undefined && (
        <>
          <Secret label={words.secretId} value={issued.secret_id} />
          <p>
            {words.accessor} <code>{issued.secret_id_accessor}</code>.{' '}
            {words.limits(
              readCount(issued.values.ttl) || role.secret_id_ttl,
              readCount(issued.values.uses) || (role.secret_id_num_uses ?? 0),
            )}
          </p>
        </>
      )}
      <Act title={words.issue}>
        <ActForm
          submit={words.issue}
          done={words.issued}
          command={(values) =>
            toCommand('warder admin new-secret-id', [name], {
              'secret-id-ttl': values.ttl,
              'secret-id-uses': values.uses,
            })
          }
          act={async (values) => {
            const uses = readCount(values.uses) || role.secret_id_num_uses
            const body = { ttl: readCount(values.ttl), ...(uses !== undefined && { num_uses: uses }) }
            show({ ...(await create.mutateAsync({ path: { name }, body })).data, values })
          }}
        >
          <p className="quiet">{words.issueHelp}</p>
          <Field
            label={words.issueSeconds}
            name="ttl"
            inputMode="numeric"
            help={words.issueLimitHelp}
            validate={isCount}
          />
          <Field
            label={words.issueUses}
            name="uses"
            inputMode="numeric"
            help={words.issueLimitHelp}
            validate={isCount}
          />
        </ActForm>
      </Act>
    </>
  )
}

function Destroy({ name, accessor }: { readonly name: string; readonly accessor: string }) {
  const destroy = auth.useAct('approle.secret_id_accessor.destroy')
  return (
    <Confirm
      verb={words.destroy}
      title={words.destroyTitle(accessor)}
      onConfirm={async () => {
        await destroy.mutateAsync({ path: { name }, body: { secret_id_accessor: accessor } })
        showToast(words.destroyed)
      }}
    >
      <p>{words.destroyEnds}</p>
      <CommandCode command={toCommand('warder admin destroy-secret-id', [name, accessor])} />
    </Confirm>
  )
}
