import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act, ActForm, CommandCode } from '../../../parts/act-form.tsx'
import { toCurlJson } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Choice } from '../../../parts/field.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { Status } from '../../../parts/status.tsx'
import { toCurl } from '../../../parts/table-text.ts'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.samlKeys
type Key = AuthReply<'saml.keys.list'>[number]

const address = '/admins/saml/keys'
const dayWaits = [0, 1, 7, 30] as const
const defaultDays = 7
const daySeconds = 86_400
const kinds = { signing: 'good', next: 'warning', previous: 'neutral' } as const
const toIso = (seconds: number): string => new Date(seconds * 1000).toISOString()

const columns: readonly Column<Key>[] = [
  { title: words.generation, value: ({ generation }) => generation },
  {
    title: words.state,
    value: ({ state }) => words.states[state],
    cell: ({ state }) => <Status kind={kinds[state]}>{words.states[state]}</Status>,
  },
  {
    title: words.signsFrom,
    value: (key) => toIso(key.signs_from),
    cell: (key) => <Time at={key.signs_from * 1000} isShort />,
  },
  { title: words.fingerprint, value: ({ sha256 }) => sha256, cell: ({ sha256 }) => <code>{sha256}</code> },
  {
    title: words.remove,
    value: () => undefined,
    cell: (key) => (key.state === 'signing' ? '–' : <Remove saml={key} />),
  },
]

/** Keys of the SAML service provider, for all realms. */
export function Room() {
  const { data, error, refetch } = auth.useOperation('saml.keys.list', {})
  const renew = auth.useAct('saml.keys.renew')
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      {error !== null && (
        <Refusal error={error} retry={() => void refetch()} needs={texts.admins.needsSuper} />
      )}
      {error === null && (
        <>
          <DataTable
            caption={words.caption}
            columns={columns}
            rows={data}
            rowKey={({ generation }) => String(generation)}
            command={toCurl(address)}
            empty={<p className="quiet">{words.empty}</p>}
          />
          <Act title={words.renew}>
            <ActForm
              submit={words.renew}
              done={words.renewed}
              command={({ days }) => toCurlJson(address, { signs_after_seconds: Number(days) * daySeconds })}
              act={({ days }) =>
                renew.mutateAsync({ body: { signs_after_seconds: Number(days) * daySeconds } })
              }
            >
              <p className="quiet">{words.renewHelp}</p>
              <Choice
                label={words.wait}
                name="days"
                value={String(defaultDays)}
                options={dayWaits.map((days) => ({ value: String(days), text: words.days(days) }))}
              />
            </ActForm>
          </Act>
        </>
      )}
    </>
  )
}

function Remove({ saml: { generation, state } }: { readonly saml: Key }) {
  const remove = auth.useAct('saml.keys.delete')
  return (
    <Confirm
      verb={words.remove}
      title={words.removeTitle(generation)}
      onConfirm={async () => {
        await remove.mutateAsync({ path: { generation: String(generation) } })
        showToast(words.removed)
      }}
    >
      <p>{state === 'next' ? words.removeNext : words.removePrevious}</p>
      <CommandCode command={`${toCurl(`${address}/${generation}`)} -X DELETE`} />
    </Confirm>
  )
}
