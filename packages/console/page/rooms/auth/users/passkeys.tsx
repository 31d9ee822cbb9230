import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { CommandCode } from '../../../parts/act-form.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Status } from '../../../parts/status.tsx'
import { toCurl } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.user
type Passkey = AuthReply<'passkeys.list_user'>['passkeys'][number]

const toIso = (seconds: number | null): string | undefined =>
  seconds === null ? undefined : new Date(seconds * 1000).toISOString()
const toMs = (seconds: number | null): number | undefined => (seconds === null ? undefined : seconds * 1000)

const columns: readonly Column<Passkey>[] = [
  { title: words.passkey, value: ({ name }) => name },
  {
    title: words.created,
    value: (row) => toIso(row.created_at),
    cell: (row) => <Time at={row.created_at * 1000} isShort />,
  },
  {
    title: words.lastUsed,
    value: (row) => toIso(row.last_used_at),
    cell: (row) => <Time at={toMs(row.last_used_at)} isShort />,
  },
  { title: words.copies, value: (row) => (row.backed_up ? words.backedUp : words.notBackedUp) },
  {
    title: words.counter,
    value: (row) => toIso(row.counter_regressed_at),
    cell: (row) =>
      row.counter_regressed_at === null ? (
        words.counterGood
      ) : (
        <Status kind="danger">{words.counterBack}</Status>
      ),
  },
]

/** Passkeys of a user, and their deletion if they are lost. */
export function Passkeys({ realm, name }: { readonly realm: string; readonly name: string }) {
  const path = { realm_id: realm, username: name }
  const { data, error, refetch } = auth.useOperation('passkeys.list_user', { path })
  const remove = auth.useAct('passkeys.delete_user')
  const address = `/realms/${encodeURIComponent(realm)}/passkeys/${encodeURIComponent(name)}`
  const count = data?.passkeys.length ?? 0
  return (
    <div className="part">
      <h2>{words.passkeys}</h2>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {error === null && (
        <DataTable
          caption={words.passkeys}
          columns={columns}
          rows={data?.passkeys}
          rowKey={({ id }) => id}
          command={toCurl(address)}
          empty={<p className="quiet">{words.noPasskeys}</p>}
        />
      )}
      {count > 0 && (
        <Confirm
          verb={words.deletePasskeys}
          title={words.deletePasskeysTitle(name)}
          onConfirm={async () => {
            await remove.mutateAsync({ path })
            showToast(words.passkeysDeleted)
          }}
        >
          <p>{words.deletePasskeysEnds(count)}</p>
          <CommandCode command={`${toCurl(address)} -X DELETE`} />
        </Confirm>
      )}
    </div>
  )
}
