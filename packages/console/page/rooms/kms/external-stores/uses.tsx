import { ClientError, type Reply } from '@warder/client/browser'
import { kms } from '../../../api.ts'
import { toCommand } from '../../../parts/command.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'
import type { Vendor } from './state.tsx'

const words = texts.externalStores
type AuditRecord = Reply<'audit.records'>['records'][number]

/** Operations of a vendor, as the audit log names them. */
const operations = { aws: 'aws.xks.*', azure: 'azure.ekm.*', google: 'google_cse.*', microsoft: 'ms_dke.*' }
const maxShown = 20

const columns: readonly Column<AuditRecord>[] = [
  { title: texts.audit.time, value: ({ time }) => time, cell: ({ time }) => <Time at={time} isShort /> },
  { title: texts.audit.operation, value: ({ operation }) => operation },
  { title: texts.audit.principal, value: ({ principal }) => principal },
  { title: texts.audit.object, value: ({ object }) => object },
  {
    title: texts.audit.outcome,
    value: ({ outcome, reason }) => (reason === undefined ? outcome : `${outcome}: ${reason}`),
    cell: ({ outcome, reason }) => (
      <Status kind={outcome === 'success' ? 'good' : 'danger'}>
        <bdi>{reason ?? outcome}</bdi>
      </Status>
    ),
  },
  { title: words.requestId, value: ({ details }) => toText(details?.vendor_request_id) },
]

const toText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The last requests of the cloud, for those who may read the audit log. */
export function RecentUses({ vendor }: { readonly vendor: Vendor }) {
  const operation = operations[vendor]
  const { data, error, refetch } = kms.useOperation('audit.records', {
    query: { operation, limit: String(maxShown) },
  })
  const isForbidden = error instanceof ClientError && error.status === 403
  return (
    <div className="part">
      <h2>{words.recent}</h2>
      {isForbidden && <p className="quiet">{words.recentForbidden}</p>}
      {error !== null && !isForbidden && <Failure error={error} retry={() => void refetch()} />}
      {error === null && (
        <>
          <DataTable
            caption={words.recent}
            columns={columns}
            rows={data?.records}
            rowKey={({ hash }) => hash}
            command={toCommand('warder audit find', [], { operation })}
            empty={<p className="quiet">{words.noRecent}</p>}
          />
          <p>
            <Link to={`/ui/audit?${new URLSearchParams({ operation })}`}>{words.allRecords}</Link>
          </p>
        </>
      )}
    </div>
  )
}
