import { useQueries } from '@tanstack/react-query'
import { ClientError, type Reply } from '@warder/client/browser'
import { useMemo, useState } from 'react'
import { kms } from '../../../api.ts'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { type Column, DataTable } from '../../../parts/data-table.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Failure } from '../../../parts/errors.tsx'
import { Link } from '../../../parts/link.tsx'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { Status } from '../../../parts/status.tsx'
import { Time } from '../../../parts/time.tsx'
import { texts } from '../../../texts.ts'
import { authorityPath } from './authorities.tsx'
import { type End, type Interval, toIntervals } from './ends.ts'
import { certificatePath } from './state.tsx'

import './calendar.css'

const words = texts.calendar
type Authority = Reply<'pki.authorities.list'>[number]
type Certificate = Reply<'pki.certificates.list'>[number]

const dayMs = 86_400_000
const spans = {
  quarter: { days: 91, step: 'week' },
  year: { days: 365, step: 'month' },
  threeYears: { days: 3 * 365, step: 'month' },
} as const
type Span = keyof typeof spans

/** Authorities whose certificates are read; a service with more has the command. */
const maxAuthorities = 100
/** Certificates of one authority: one page. */
const maxOfAuthority = 1000

/** Certificates that end soon, by week or month, of all authorities that the user may read. */
export function Room() {
  const [span, setSpan] = useState<Span>('quarter')
  const [chosen, setChosen] = useState<string>()
  const { days, step } = spans[span]
  const [now] = useState(() => Math.floor(Date.now() / dayMs) * dayMs)
  const to = now + days * dayMs
  const { ends, error, isPartial } = useEnds(new Date(to).toISOString())
  const intervals = useMemo(
    () => (ends === undefined ? [] : toIntervals(ends, { from: now, to, step })),
    [ends, now, to, step],
  )
  const shown = intervals.find(({ first }) => first === chosen)?.ends ?? ends
  return (
    <>
      <RoomHeader title={words.title}>{words.description}</RoomHeader>
      <label className="range">
        <span>{words.span}</span>
        <select
          className="input"
          value={span}
          onChange={({ target }) => {
            setSpan(target.value as Span)
            setChosen(undefined)
          }}
        >
          {Object.entries(words.spans).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {error !== null && <Failure error={error} />}
      {ends === undefined && error === null && <Skeleton />}
      {isPartial && <p className="notice">{words.partial(maxAuthorities, maxOfAuthority)}</p>}
      {ends !== undefined && (
        <Intervals intervals={intervals} step={step} chosen={chosen} choose={setChosen} />
      )}
      {ends !== undefined && (
        <DataTable
          caption={words.caption}
          columns={columns}
          rows={shown}
          rowKey={({ authority, serial }) => `${authority.id} ${serial}`}
          command={`warder pki expiring --days ${days}`}
          empty={<Empty title={words.none}>{words.noneHelp}</Empty>}
        />
      )}
      <p className="quiet">{words.commandHelp}</p>
    </>
  )
}

/** @param until RFC 3339 @returns certificates in the order of their ends; undefined: not loaded yet */
function useEnds(until: string) {
  const authorities = kms.useOperation('pki.authorities.list', {})
  const all = authorities.data
  const lists = useQueries({
    queries: (all ?? []).map(({ id }) => ({
      queryKey: ['pki.certificates.list', id, until],
      queryFn: () => readEnding(id, until),
    })),
    combine: (results) => ({
      isPending: results.some(({ isPending }) => isPending),
      error: results.find((each) => each.error !== null)?.error ?? null,
      lists: results.map(({ data }) => data),
    }),
  })
  const ends = useMemo(() => {
    if (all === undefined || lists.isPending) return undefined
    const issued = all.flatMap((authority, index) =>
      (lists.lists[index]?.rows ?? []).map((certificate) => toEnd(authority, certificate)),
    )
    const roots = all.flatMap((authority) =>
      authority.issuer === null &&
      authority.not_after <= until &&
      Date.parse(authority.not_after) > Date.now()
        ? [toRootEnd(authority)]
        : [],
    )
    return [...issued, ...roots].toSorted((one, other) => one.not_after.localeCompare(other.not_after))
  }, [all, lists, until])
  return {
    ends,
    error: authorities.error ?? lists.error,
    isPartial: (all?.length ?? 0) >= maxAuthorities || lists.lists.some((list) => list?.next !== undefined),
  }
}

interface Ending {
  readonly rows: readonly Certificate[]
  /** There are more. */
  readonly next: string | undefined
}

/** Without those of OCSP responders, which the service renews. None if the user may not read them. */
async function readEnding(id: string, until: string): Promise<Ending> {
  try {
    const query = { state: 'valid', expires_before: until, limit: String(maxOfAuthority) } as const
    const { rows, next } = await kms.client.page('pki.certificates.list', { path: { id }, query })
    return { rows: rows.filter(({ profile }) => profile !== 'ocsp_responder'), next }
  } catch (error) {
    if (error instanceof ClientError && error.status === 403) return { rows: [], next: undefined }
    throw error
  }
}

function toEnd({ id, subject }: Authority, certificate: Certificate): End {
  const { replaced_by: successor, renews } = certificate
  const renewal = successor !== undefined ? 'replaced' : renews ? 'automatic' : 'none'
  return { ...certificate, authority: { id, subject }, renewal }
}

function toRootEnd({ id, subject, not_after, fingerprint }: Authority): End {
  return { id, serial: fingerprint, subject, not_after, authority: { id, subject }, renewal: 'none' }
}

const needsCare = ({ renewal }: End): boolean => renewal === 'none'

function Intervals(props: {
  readonly intervals: readonly Interval[]
  readonly step: 'week' | 'month'
  readonly chosen: string | undefined
  readonly choose: (first: string | undefined) => void
}) {
  const { intervals, step, chosen, choose } = props
  return (
    <ol className="calendar" aria-label={words.intervals[step]}>
      {intervals.map(({ first, last, ends }) => {
        const left = ends.filter(needsCare).length
        return (
          <li key={first}>
            <button
              type="button"
              className="interval"
              aria-pressed={first === chosen}
              disabled={ends.length === 0}
              onClick={() => choose(first === chosen ? undefined : first)}
            >
              <strong>{words.interval(step, first, last)}</strong>
              <span>{words.ends(ends.length)}</span>
              {left > 0 && <Status kind="warning">{words.left(left)}</Status>}
              {left === 0 && ends.length > 0 && <Status kind="good">{words.allRenew}</Status>}
            </button>
          </li>
        )
      })}
    </ol>
  )
}

const kinds = { automatic: 'good', replaced: 'neutral', none: 'warning' } as const

const columns: readonly Column<End>[] = [
  {
    title: words.end,
    value: (row) => row.not_after,
    cell: (row) => <Time at={row.not_after} isShort />,
  },
  {
    title: words.subject,
    value: ({ subject, serial }) => (subject === '' ? serial : subject),
    cell: ({ id, subject, serial, authority }) => {
      const name = <bdi>{subject === '' ? serial : subject}</bdi>
      if (id === undefined) return name
      return <Link to={id === authority.id ? authorityPath(id) : certificatePath(id)}>{name}</Link>
    },
  },
  {
    title: words.renewal,
    value: ({ renewal }) => words.renewals[renewal],
    cell: ({ renewal }) => <Status kind={kinds[renewal]}>{words.renewals[renewal]}</Status>,
  },
  {
    title: words.authority,
    value: ({ authority }) => authority.subject,
    cell: ({ authority }) => (
      <Link to={authorityPath(authority.id)}>
        <bdi>{authority.subject}</bdi>
      </Link>
    ),
  },
  { title: words.serial, value: ({ serial }) => serial, cell: ({ serial }) => <code>{serial}</code> },
]
