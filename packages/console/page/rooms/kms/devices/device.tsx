import { ClientError } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Act, CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Link } from '../../../parts/link.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Time } from '../../../parts/time.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { Block, Unblock } from '../access/block.tsx'
import { CertificateState, certificatePath } from '../certificates/state.tsx'
import { IssueCertificate } from './issue.tsx'
import { type Device, DeviceState } from './state.tsx'

const words = texts.devices
type Certificate = Device['certificates'][number]

/** One KMIP client: its certificates, when it connected last, and what ends its access. */
export function Room({ query }: RoomProps) {
  const name = query.get('name') ?? ''
  const { data, error, refetch } = kms.useOperation('kmip.devices.get', { path: { name } })
  return (
    <>
      <RoomHeader
        title={words.device}
        actions={data && (data.blocked ? <Unblock user={name} /> : <Block user={name} />)}
      >
        <bdi>{name}</bdi>
      </RoomHeader>
      {error instanceof ClientError && error.kind === 'not_found' ? (
        <Empty title={words.unknown}>
          <p>{words.unknownHelp}</p>
          <CommandCode command={toCommand('warder kmip certificate', [name])} />
        </Empty>
      ) : error !== null ? (
        <Refusal error={error} retry={() => void refetch()} needs={words.refused} />
      ) : data === undefined ? (
        <Skeleton />
      ) : (
        <Shown device={data} />
      )}
    </>
  )
}

function Shown({ device }: { readonly device: Device }) {
  const { name, certificates } = device
  return (
    <>
      <Facts device={device} />
      <h2>{words.certificates}</h2>
      <DataTable
        caption={words.certificates}
        columns={columns}
        rows={certificates}
        rowKey={({ fingerprint }) => fingerprint}
        command={toCommand('warder kmip devices', [name])}
        empty={
          <Empty title={words.noCertificate}>
            <p>{words.noCertificateHelp}</p>
          </Empty>
        }
      />
      {certificates.some(({ source, state }) => source === 'local' && state === 'valid') && (
        <>
          <p className="quiet">{words.revokeLocal}</p>
          <CommandCode command={toCommand('warder kmip revoke-certificate', [name])} />
        </>
      )}
      <Act title={words.issue}>
        <IssueCertificate name={name} />
      </Act>
    </>
  )
}

function Facts({ device }: { readonly device: Device }) {
  const { name, keys, encoding, kmip_version: version } = device
  return (
    <dl className="facts">
      <dt>{words.state}</dt>
      <dd>
        <DeviceState device={device} />
      </dd>
      <dt>{words.ends}</dt>
      <dd>{device.ends_at === undefined ? '–' : <Time at={device.ends_at} />}</dd>
      <dt>{words.lastSeen}</dt>
      <dd>
        <Time at={device.last_seen} />
      </dd>
      <dt>{words.version}</dt>
      <dd>{version === undefined ? '–' : words.spoken(version, encoding ?? '')}</dd>
      <dt>{words.keys}</dt>
      <dd>
        <Link to={`/ui/keys?${new URLSearchParams({ owner: name })}`}>{words.keysOf(keys)}</Link>
      </dd>
    </dl>
  )
}

const columns: readonly Column<Certificate>[] = [
  {
    title: words.serial,
    value: ({ serial }) => serial,
    cell: ({ id, serial }) => {
      const text = <code>{serial}</code>
      return id === undefined ? text : <Link to={certificatePath(id)}>{text}</Link>
    },
  },
  {
    title: words.state,
    value: ({ state, reason }) => (reason === undefined ? state : `${state}: ${reason}`),
    cell: ({ state, reason }) => <CertificateState state={state} reason={reason} />,
  },
  {
    title: words.begins,
    value: (certificate) => certificate.not_before,
    cell: (certificate) => <Time at={certificate.not_before} isShort />,
  },
  {
    title: words.ends,
    value: (certificate) => certificate.not_after,
    cell: (certificate) => <Time at={certificate.not_after} isShort />,
  },
  { title: words.issuer, value: ({ issuer }) => issuer },
  { title: words.source, value: ({ source }) => words.sources[source] },
  {
    title: words.revoke,
    value: () => undefined,
    cell: ({ id, state, serial }) =>
      id !== undefined && state === 'valid' ? <Revoke id={id} serial={serial} /> : '–',
  },
]

function Revoke({ id, serial }: { readonly id: string; readonly serial: string }) {
  const { mutateAsync } = kms.useAct('pki.certificates.revoke')
  const revoke = async (): Promise<void> => {
    await mutateAsync({ path: { id }, body: { reason: 'cessationOfOperation' } })
    showToast(words.revoked)
  }
  return (
    <Confirm verb={words.revoke} title={words.revokeTitle(serial)} onConfirm={revoke}>
      <p>{words.revokeHelp}</p>
    </Confirm>
  )
}
