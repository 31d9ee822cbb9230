import type { Input, Reply } from '@warder/client'
import { formatTable, requireNoNames, UsageError } from '@warder/command-line'
import { type KmsContext, kmsVerb } from '@warder/command-line/kms'
import {
  explainRefusal,
  Gaps,
  moreFilters,
  readFilters,
  readService,
  resolveObject,
  type Service,
  serviceOption,
} from './find.ts'
import { filters, times } from './records.ts'

type Query = Input<'audit.counts'>['query']
type Bucket = Reply<'audit.counts'>['buckets'][number]

/** Each page counts a part of the logs: up to millions of records. */
const maxPages = 1000
/** Intervals that the service counts in one request. */
const maxIntervals = 1000
const hour = 3_600_000
const hours = { hour: 1, day: 24 } as const
const defaultHours = { hour: 24, day: 30 * 24 } as const

async function countRecords(context: KmsContext, service: Service, query: Query): Promise<number> {
  const { kms, openAuth, show, note } = context
  const auth = service === 'auth' ? openAuth() : undefined
  const gaps = new Gaps()
  const sums = new Map<string, Bucket>()
  let after: string | undefined
  let pages = 0
  do {
    const asked = { query: { ...query, ...(after !== undefined && { after }) } }
    const { rows, next } = await (auth?.page('audit.counts', asked) ??
      kms.page('audit.counts', asked).catch(explainRefusal))
    gaps.add(rows.nodes)
    for (const { start, records, failures } of rows.buckets) {
      const before = sums.get(start)
      sums.set(start, {
        ...{ start, records: records + (before?.records ?? 0), failures: failures + (before?.failures ?? 0) },
      })
    }
    after = next
    pages += 1
    if (pages === maxPages && after !== undefined)
      gaps.addStop(rows.nodes, `after ${maxPages} pages`, '--since bounds it')
  } while (after !== undefined && pages < maxPages)
  const buckets = [...sums.values()].toSorted((one, other) => one.start.localeCompare(other.start))
  show(
    { buckets, gaps: gaps.sentences },
    formatTable(
      ['FROM', 'RECORDS', 'FAILURES'],
      buckets.map(({ start, records, failures }) => [start, String(records), String(failures)]),
      'no records match',
    ),
  )
  for (const sentence of gaps.sentences) note(sentence)
  return gaps.sentences.length === 0 ? 0 : 1
}

export const count = kmsVerb({
  name: 'count',
  words: '',
  usage: '[--step hour|day] [FILTER]...',
  summary: 'Count the records of the audit logs of all nodes by hour or day, with those of failures',
  about: `The same rights as for find. The count is recorded. Intervals begin at whole hours or days (UTC); those
without a record are left out. Failures are records whose outcome is failure, which includes refusals. TIME is
RFC 3339 (2026-11-21T00:00:00Z), or an age: 12h.
Exit code 1: records are missing or the count was stopped, with the reasons on standard error.`,
  examples: [
    'warder audit count --since 24h',
    'warder audit count --step day --since 90d --key KEY',
    'warder audit count --service auth --operation login --json',
  ],
  options: {
    ...serviceOption,
    step: { type: 'text', value: 'hour|day', help: 'length of an interval (default hour)' },
    ...times,
    ...filters,
    ...moreFilters,
  },
  parse({ service: named, key, step = 'hour', ...given }, names) {
    requireNoNames(names)
    const service = readService(named)
    if (step !== 'hour' && step !== 'day') throw new UsageError(`--step must be hour or day, not '${step}'`)
    if (key === '') throw new UsageError('--key is empty')
    const { since = new Date(Date.now() - defaultHours[step] * hour).toISOString(), ...query } =
      readFilters(given)
    // Without an end the service counts the first intervals alone.
    const untilMs = query.until === undefined ? Date.now() : Date.parse(query.until)
    if (untilMs - Date.parse(since) > maxIntervals * hours[step] * hour)
      throw new UsageError(
        `--since and --until are more than ${maxIntervals} ${step}s apart: ${step === 'hour' ? 'use --step day, or ' : ''}give a shorter time`,
      )
    return async (context) => {
      const object = await resolveObject(context.kms, key)
      return countRecords(context, service, { ...query, ...object, since, step })
    }
  },
})
