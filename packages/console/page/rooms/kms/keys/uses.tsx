import type { Reply } from '@warder/client/browser'
import { lazy, Suspense, useMemo } from 'react'
import { kms } from '../../../api.ts'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { quoteShell } from '../../../parts/table-text.ts'
import { texts } from '../../../texts.ts'
import type { KeyProps } from './rights.ts'

const words = texts.key.use
type Use = Reply<'crypto.keys.uses'>['uses'][number]
const TimeChart = lazy(async () => ({ default: (await import('../../../parts/time-chart.tsx')).TimeChart }))

const columns: readonly Column<Use>[] = [
  { title: words.user, value: ({ user }) => user },
  { title: words.day, value: (row) => row.last_used },
]

/** Who used the key last, and when. */
export function Uses({ of: key, may }: KeyProps) {
  const { kid } = key
  const isAllowed = may('authorize')
  const { data, error, refetch } = kms.useOperation(
    'crypto.keys.uses',
    { path: { kid } },
    { enabled: isAllowed },
  )
  if (!isAllowed) return <p className="notice">{texts.key.noRight('authorize')}</p>
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />
  const [latest] = data?.uses ?? []
  return (
    <>
      {latest !== undefined && (
        <dl className="facts">
          <dt>{words.lastUse}</dt>
          <dd>
            {latest.last_used} <bdi className="quiet">{latest.user}</bdi>
          </dd>
        </dl>
      )}
      {data !== undefined && data.uses.length > 0 && (
        <Suspense fallback={<Skeleton />}>
          <Chart uses={data.uses} />
        </Suspense>
      )}
      <p className="quiet">{words.help}</p>
      <DataTable
        caption={words.caption}
        columns={columns}
        rows={data?.uses}
        rowKey={({ user }) => user}
        command={`warder keys show ${quoteShell(kid)}`}
        empty={
          <Empty title={words.never}>
            <p>{words.neverHelp}</p>
          </Empty>
        }
      />
    </>
  )
}

const dayMs = 86_400_000
const minDays = 14

/** Users by the day of their last use, up to today. */
function Chart({ uses }: { readonly uses: readonly Use[] }) {
  const { start, bars } = useMemo(() => {
    const today = Math.floor(Date.now() / dayMs)
    const days = uses.map((use) => Math.floor(Date.parse(use.last_used) / dayMs))
    const first = Math.min(today - minDays + 1, ...days)
    const counts = Array.from({ length: today - first + 1 }, () => 0)
    for (const day of days) if (day <= today) counts[day - first] = (counts[day - first] ?? 0) + 1
    return { start: first * dayMs, bars: [{ label: words.users, colour: '--accent', counts }] }
  }, [uses])
  return <TimeChart label={words.chart} axis={words.users} start={start} stepMs={dayMs} bars={bars} />
}
