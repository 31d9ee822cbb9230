import type { Reply } from '@warder/client/browser'
import type { ReactNode } from 'react'
import { kms } from '../api.ts'
import { RoomHeader } from '../frame/room-header.tsx'
import { useInfo } from '../frame/session.ts'
import { CommandCode } from '../parts/act-form.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Link } from '../parts/link.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Status } from '../parts/status.tsx'
import { quoteShell } from '../parts/table-text.ts'
import { Time } from '../parts/time.tsx'
import { texts } from '../texts.ts'

const words = texts.health
type Details = Reply<'health.details'>
type Problem = Details['problems'][number]

// Both services declare the same operation, so that the client of one serves both.
const api = kms

/** The state of this service: what is wrong and what to do first, then all that is known. */
export function Room() {
  const service = useInfo().data?.service ?? 'kms'
  const { data, error, refetch, isFetching } = api.useOperation('health.details', {})
  const again = (
    <button type="button" className="button" disabled={isFetching} onClick={() => void refetch()}>
      {words.again}
    </button>
  )
  return (
    <>
      <RoomHeader title={words.title} actions={again}>
        {data === undefined ? words.description : words.about(data.node, data.version)}
      </RoomHeader>
      {error !== null && (
        <Refusal error={error} retry={() => void refetch()} needs={words.needsRight[service]} />
      )}
      {error === null && data === undefined && <Skeleton />}
      {error === null && data !== undefined && <Report details={data} service={service} />}
    </>
  )
}

function Report({ details, service }: { readonly details: Details; readonly service: 'auth' | 'kms' }) {
  const command = `warder status ${service}`
  return (
    <>
      <Problems problems={details.problems} />
      <Running details={details} />
      <Part title={words.nodes}>
        <DataTable
          caption={words.nodes}
          columns={nodeColumns}
          rows={details.nodes}
          rowKey={({ node }) => node}
          command={command}
          empty={<p>{words.none}</p>}
        />
      </Part>
      <Part title={words.certificates}>
        <DataTable
          caption={words.certificates}
          columns={certificateColumns}
          rows={details.certificates}
          rowKey={({ use, sha256 }) => `${use} ${sha256}`}
          command={command}
          empty={<p>{words.noCertificates}</p>}
        />
      </Part>
      <Backups backups={details.backups} />
      <Part title={words.disks}>
        <DataTable
          caption={words.disks}
          columns={diskColumns}
          rows={details.disks}
          rowKey={({ path }) => path}
          command={command}
          empty={<p>{words.none}</p>}
        />
      </Part>
      <Database database={details.database} />
      <Part title={words.settings}>
        <p className="quiet">{words.settingsHelp}</p>
        <DataTable
          caption={words.settings}
          columns={settingColumns}
          rows={details.settings}
          rowKey={({ name }) => name}
          command="warder config show"
          empty={<p>{words.noSettings}</p>}
        />
      </Part>
    </>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="part">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  if (problems.length === 0)
    return (
      <p>
        <Status kind="good">{words.nothingWrong}</Status>
      </p>
    )
  return (
    <section aria-label={words.problems} className="sections">
      {problems.map(({ level, problem, remedy, command }) => (
        <div key={problem} className="section">
          <p>
            <Status kind={level}>{words.levels[level]}</Status>: <bdi>{problem}</bdi>
          </p>
          <p>{remedy}</p>
          {command !== undefined && <CommandCode command={toShell(command)} />}
        </div>
      ))}
    </section>
  )
}

/** Words of a command, quoted where they need it. */
const toShell = (command: readonly string[]): string => command.map(quoteShell).join(' ')

function Running({ details }: { readonly details: Details }) {
  const { parts, audit, root_key: rootKey } = details
  return (
    <Part title={words.service}>
      <dl className="facts">
        <Fact title={words.since}>
          <Time at={details.started_at} />
        </Fact>
        {Object.entries(parts).map(([key, { name, status, message }]) => (
          <Fact key={key} title={words.parts[key as keyof typeof words.parts] ?? key}>
            <Status kind={status === 'UP' ? 'good' : 'danger'}>
              {status === 'UP' ? words.works : words.fails}
            </Status>{' '}
            ({name}) {message}
          </Fact>
        ))}
        <Fact title={words.audit}>
          <Status kind={audit.enabled ? 'good' : 'warning'}>
            {audit.enabled ? words.enabled : words.disabled}
          </Status>{' '}
          {audit.enabled && words.auditModes[audit.failure_mode]} {audit.encrypted && words.encrypted}{' '}
          <Link to="/ui/audit">{words.verifyAudit}</Link>
        </Fact>
        <Fact title={words.rootKey}>
          <Status kind={rootKey.usable ? 'good' : 'danger'}>
            {rootKey.usable ? words.usable : words.notUsable}
          </Status>{' '}
          {rootKey.usable ? words.rootKeyUsable : words.rootKeyLost} {words.source}{' '}
          <code>{rootKey.source}</code>. {words.unsealed}
        </Fact>
      </dl>
    </Part>
  )
}

const nodeColumns: readonly Column<Details['nodes'][number]>[] = [
  { title: words.node, value: ({ node }) => node },
  {
    title: words.state,
    value: ({ answered }) => (answered ? words.answers : words.noAnswer),
    cell: ({ answered, reason }) => (
      <Status kind={answered ? 'good' : 'warning'}>
        {answered ? words.answers : words.noAnswer} <bdi>{reason}</bdi>
      </Status>
    ),
  },
  { title: words.records, value: ({ records }) => records },
  {
    title: words.chain,
    value: ({ problems, answered }) => (answered ? problems.join(' ') || words.chainEnds : undefined),
    cell: ({ problems, answered }) =>
      !answered ? (
        '–'
      ) : (
        <Status kind={problems.length === 0 ? 'good' : 'danger'}>
          {problems.length === 0 ? words.chainEnds : <bdi>{problems.join(' ')}</bdi>}
        </Status>
      ),
  },
]

type Certificate = Details['certificates'][number]
const warningMs = 30 * 86_400_000

function judgeEnd({ not_after }: Certificate): 'valid' | 'ending' | 'expired' {
  const leftMs = Date.parse(not_after) - Date.now()
  return leftMs <= 0 ? 'expired' : leftMs <= warningMs ? 'ending' : 'valid'
}

const endKinds = { valid: 'good', ending: 'warning', expired: 'danger' } as const

const certificateColumns: readonly Column<Certificate>[] = [
  { title: words.use, value: ({ use }) => words.uses[use] },
  {
    title: words.state,
    value: (certificate) => words.ends[judgeEnd(certificate)],
    cell: (certificate) => (
      <Status kind={endKinds[judgeEnd(certificate)]}>{words.ends[judgeEnd(certificate)]}</Status>
    ),
  },
  { title: words.end, value: ({ not_after }) => not_after, cell: ({ not_after }) => <Time at={not_after} /> },
  { title: words.subject, value: ({ subject }) => subject },
  { title: words.names, value: ({ names }) => names },
  { title: words.issuer, value: ({ issuer }) => issuer },
  { title: words.fingerprint, value: ({ sha256 }) => sha256, cell: ({ sha256 }) => <code>{sha256}</code> },
]

function Backups({ backups }: { readonly backups: Details['backups'] }) {
  return (
    <Part title={words.backups}>
      <p className="quiet">{words.backupsHelp}</p>
      <dl className="facts">
        <Fact title={words.lastBackup}>
          <Time at={backups.last_backup_at ?? undefined} />
        </Fact>
        <Fact title={words.lastDrill}>
          <Time at={backups.last_drill_at ?? undefined} />
        </Fact>
      </dl>
    </Part>
  )
}

const gib = 1024 ** 3
const formatGib = (bytes: number): string => `${(bytes / gib).toFixed(1)} GiB`

const diskColumns: readonly Column<Details['disks'][number]>[] = [
  { title: words.path, value: ({ path }) => path },
  { title: words.free, value: (disk) => formatGib(disk.free_bytes) },
  { title: words.size, value: (disk) => formatGib(disk.total_bytes) },
  {
    title: words.freeShare,
    value: (disk) => `${Math.floor((100 * disk.free_bytes) / Math.max(1, disk.total_bytes))} %`,
  },
]

const migrationColumns: readonly Column<Details['database']['migrations'][number]>[] = [
  { title: words.component, value: ({ component }) => component },
  { title: words.done, value: ({ done }) => done },
  { title: words.pending, value: ({ pending }) => pending },
  { title: words.newer, value: ({ newer }) => newer },
]

function Database({ database }: { readonly database: Details['database'] }) {
  const { engine, version, location, bytes, migrations } = database
  return (
    <Part title={words.database}>
      <dl className="facts">
        <Fact title={words.engine}>
          {engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'} {version}
        </Fact>
        <Fact title={words.location}>
          <code>{location}</code>
        </Fact>
        {bytes !== undefined && <Fact title={words.size}>{`${(bytes / 1024 ** 2).toFixed(1)} MiB`}</Fact>}
      </dl>
      <DataTable
        caption={words.migrations}
        columns={migrationColumns}
        rows={migrations}
        rowKey={({ component }) => component}
        command="warder check"
        empty={<p>{words.none}</p>}
      />
    </Part>
  )
}

const formatSetting = (value: unknown): string =>
  value === undefined ? words.secret : Array.isArray(value) ? value.join(', ') : String(value)

const settingColumns: readonly Column<Details['settings'][number]>[] = [
  { title: words.setting, value: ({ name }) => name, cell: ({ name }) => <code>{name}</code> },
  {
    title: words.value,
    value: ({ value }) => formatSetting(value),
    cell: ({ value }) => (
      <span className="wrap">
        <bdi>{formatSetting(value)}</bdi>
      </span>
    ),
  },
  { title: words.from, value: ({ from }) => words.sources[from as keyof typeof words.sources] ?? from },
]
