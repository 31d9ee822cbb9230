import type { Reply } from '@warder/client/browser'
import { lazy, Suspense, useEffect, useMemo, useState } from 'react'
import { kms } from '../../api.ts'
import { Act } from '../../parts/act-form.tsx'
import { toCommand } from '../../parts/command.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Failure } from '../../parts/errors.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from '../../texts.ts'
import type { Filter } from './filter.ts'

const words = texts.audit.counts
const TimeChart = lazy(async () => ({ default: (await import('../../parts/time-chart.tsx')).TimeChart }))

type Page = Reply<'audit.counts'>
type Bucket = Page['buckets'][number]
type Step = 'hour' | 'day'
const stepMs = { hour: 3_600_000, day: 86_400_000 } as const
const ranges = {
  day: { step: 'hour', count: 24 },
  week: { step: 'hour', count: 7 * 24 },
  month: { step: 'day', count: 30 },
  year: { step: 'day', count: 365 },
} as const
type Range = keyof typeof ranges

/** As many as the operation counts. */
const maxBuckets = 1000
/** Longer times are counted by day. */
const maxHours = 14 * 24
/** Each page counts up to millions of records; further ones follow on request. */
const maxPages = 20

interface Span {
  readonly since: string
  readonly step: Step
  /** Unix milliseconds: begin of the first interval. */
  readonly start: number
  readonly count: number
}

/** The times of the filter, or else those of the range up to now. */
function toSpan(since: string | undefined, until: string | undefined, range: Range): Span {
  if (since === undefined) {
    const { step, count } = ranges[range]
    const start = (Math.floor(Date.now() / stepMs[step]) - count + 1) * stepMs[step]
    return { since: new Date(start).toISOString(), step, start, count }
  }
  const [from, to] = [Date.parse(since), until === undefined ? Date.now() : Date.parse(until)]
  const step = to - from <= maxHours * stepMs.hour ? 'hour' : 'day'
  const first = Math.floor(from / stepMs[step])
  const count = Math.min(maxBuckets, Math.max(1, Math.ceil(to / stepMs[step]) - first))
  return { since, step, start: first * stepMs[step], count }
}

interface CountsProps {
  readonly filter: Filter
  readonly service: 'auth' | 'kms' | undefined
  /** The filters as options of the command. */
  readonly options: Readonly<Record<string, string>>
}

/** Requests by hour or day, and those of them that were refused or failed, under the filters of the search. */
export function Counts({ filter, service, options }: CountsProps) {
  const [range, setRange] = useState<Range>('day')
  const { since: from, until } = filter
  const span = useMemo(() => toSpan(from, until, range), [from, until, range])
  const { since, step } = span
  const query = { ...filter, since, step }
  const pages = kms.usePages('audit.counts', { query }, (page): readonly Page[] => [page])
  const { rows, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages
  const isCounting = hasNextPage && (rows?.length ?? 0) < maxPages
  useEffect(() => {
    if (isCounting && !isFetchingNextPage) void fetchNextPage()
  }, [isCounting, isFetchingNextPage, fetchNextPage])
  const command = toCommand('warder audit count', [], {
    ...(service === 'auth' && { service }),
    ...{ step, ...options, since },
  })
  return (
    <section aria-label={words.title} className="counts">
      <h2>{words.title}</h2>
      {from === undefined && <RangeChoice range={range} setRange={setRange} />}
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {rows === undefined && error === null && <Skeleton />}
      {rows !== undefined && <Sums pages={rows} span={span} command={command} />}
      {isCounting && <p role="status">{words.counting}</p>}
      {hasNextPage && !isCounting && (
        <p>
          {words.partial}{' '}
          <button
            type="button"
            className="button"
            disabled={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          >
            {words.more}
          </button>
        </p>
      )}
    </section>
  )
}

function RangeChoice(props: { readonly range: Range; readonly setRange: (range: Range) => void }) {
  const { range, setRange } = props
  return (
    <label className="range">
      <span>{words.range}</span>
      <select className="input" value={range} onChange={({ target }) => setRange(target.value as Range)}>
        {Object.entries(words.ranges).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

const columns: readonly Column<Bucket>[] = [
  {
    title: words.from,
    value: ({ start }) => start,
    cell: ({ start }) => <Time at={start} isShort />,
  },
  { title: words.records, value: ({ records }) => records },
  { title: words.failures, value: ({ failures }) => failures },
]

function Sums(props: { readonly pages: readonly Page[]; readonly span: Span; readonly command: string }) {
  const { pages, span, command } = props
  const buckets = useMemo(() => addPages(pages), [pages])
  const { start, step } = span
  const bars = useMemo(() => toBars(buckets, span), [buckets, span])
  const sum = (pick: (bucket: Bucket) => number) => buckets.reduce((total, each) => total + pick(each), 0)
  const total = words.chart(
    sum(({ records }) => records),
    sum(({ failures }) => failures),
  )
  const nodes = pages[0]?.nodes ?? []
  return (
    <>
      <p>
        {total}
        <span aria-hidden="true" className="legend">
          <span className="swatch records" /> {words.records} <span className="swatch failures" />{' '}
          {words.failures}
        </span>
      </p>
      {nodes.map(
        ({ node, answered, reason = '' }) =>
          !answered && (
            <p key={node} className="notice danger">
              <bdi>{words.missing(node, reason)}</bdi>
            </p>
          ),
      )}
      <Suspense fallback={<Skeleton />}>
        <TimeChart label={total} axis={words.records} start={start} stepMs={stepMs[step]} bars={bars} />
      </Suspense>
      <Act title={words.table}>
        <DataTable
          caption={words.caption}
          columns={columns}
          rows={buckets}
          rowKey={(bucket) => bucket.start}
          command={command}
          empty={<Empty title={words.none}>{words.noneHelp}</Empty>}
        />
        <p className="quiet">{words.tableHelp}</p>
      </Act>
    </>
  )
}

/** The sums of all pages, newest first. */
function addPages(pages: readonly Page[]): readonly Bucket[] {
  const sums = new Map<string, Bucket>()
  for (const { start, records, failures } of pages.flatMap(({ buckets }) => buckets)) {
    const before = sums.get(start)
    sums.set(start, {
      ...{ start, records: records + (before?.records ?? 0) },
      failures: failures + (before?.failures ?? 0),
    })
  }
  return [...sums.values()].toSorted((one, other) => other.start.localeCompare(one.start))
}

function toBars(buckets: readonly Bucket[], { start, count, step }: Span) {
  const records = Array.from({ length: count }, () => 0)
  const failures = Array.from({ length: count }, () => 0)
  for (const bucket of buckets) {
    const index = (Date.parse(bucket.start) - start) / stepMs[step]
    if (index < 0 || index >= count) continue
    records[index] = bucket.records
    failures[index] = bucket.failures
  }
  return [
    { label: words.records, colour: '--accent', counts: records },
    { label: words.failures, colour: '--danger', counts: failures },
  ]
}
