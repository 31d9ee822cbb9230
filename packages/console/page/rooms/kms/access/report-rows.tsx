import type { Reply } from '@warder/client/browser'
import type { Column } from '../../../parts/data-table.tsx'
import { Link } from '../../../parts/link.tsx'
import { texts } from '../../../texts.ts'

const words = texts.access
export type ReportRow = Reply<'access.report'>[number]

const formatRight = (right: string): string => (right === '*' ? words.everyRight : right)
const formatWay = (way: string): string => (words.ways as Readonly<Record<string, string>>)[way] ?? way

/** A row has no identifier: all of its members together are one. */
export const rowKey = (row: ReportRow): string =>
  JSON.stringify([row.user_id, row.unique_identifier, row.right, row.way, row.granted_to, row.tag])

/** The decision on one user, one key and one right. */
function explainPath(user: string, key: string, right: string): string {
  return `/ui/access/explain?${new URLSearchParams({ user, key, operation: right })}`
}

/** Principals and keys that the service can decide on: no patterns, groups or roles. */
const isExplainable = ({ user_id: user, unique_identifier: key }: ReportRow): boolean =>
  key !== '*' && !/^(group|role|aws|google|azure|microsoft):|\*/.test(user)

export const listColumns: readonly Column<ReportRow>[] = [
  { title: words.user, value: (row) => row.user_id },
  {
    title: words.key,
    value: (row) => row.unique_identifier,
    cell: (row) => (row.unique_identifier === '*' ? words.noKey : <code>{row.unique_identifier}</code>),
  },
  { title: words.aliases, value: (row) => row.aliases },
  {
    title: words.right,
    value: (row) => row.right,
    cell: (row) =>
      isExplainable(row) && row.right !== '*' ? (
        <Link to={explainPath(row.user_id, row.unique_identifier, row.right)}>{row.right}</Link>
      ) : (
        formatRight(row.right)
      ),
  },
  { title: words.way, value: (row) => row.way, cell: (row) => formatWay(row.way) },
  { title: words.grantedTo, value: (row) => row.granted_to },
  { title: words.tag, value: (row) => row.tag },
  { title: words.owner, value: (row) => row.owner_id },
  { title: words.lastUsed, value: (row) => row.last_used },
]

const maxKeys = 25

/** All rights of one principal, by key. */
export interface MatrixRow {
  readonly user: string
  readonly byKey: ReadonlyMap<string, readonly ReportRow[]>
}

/** Principals as rows, keys as columns; more columns than these are not readable. */
export function toMatrix(rows: readonly ReportRow[]) {
  const keys = [...new Set(rows.map((row) => row.unique_identifier))]
  const byUser = Map.groupBy(rows, (row) => row.user_id)
  const users: readonly MatrixRow[] = [...byUser].map(([user, own]) => ({
    user,
    byKey: Map.groupBy(own, (row) => row.unique_identifier),
  }))
  const titles = toKeyTitles(rows)
  const columns: readonly Column<MatrixRow>[] = [
    {
      title: words.user,
      value: ({ user }) => user,
      cell: ({ user }) => (
        <Link to={`/ui/access?${new URLSearchParams({ user, layout: 'list' })}`}>
          <bdi>{user}</bdi>
        </Link>
      ),
    },
    ...keys.slice(0, maxKeys).map((key) => ({
      title: titles.get(key) ?? key,
      value: ({ byKey }: MatrixRow) => toRights(byKey.get(key) ?? []),
      cell: ({ user, byKey }: MatrixRow) => <Cell user={user} rows={byKey.get(key) ?? []} />,
    })),
  ]
  return { users, columns, keys: keys.length, shown: Math.min(keys.length, maxKeys) }
}

/** Keys by their aliases, with the identifier if other keys have the same ones or there are none. */
function toKeyTitles(rows: readonly ReportRow[]): ReadonlyMap<string, string> {
  const byKey = new Map(rows.map((row) => [row.unique_identifier, row.aliases?.join(', ') ?? '']))
  const isUnique = (names: string): boolean => [...byKey.values()].filter((one) => one === names).length === 1
  const toTitle = (key: string, names: string): string => {
    if (key === '*') return words.noKey
    if (names === '') return key
    return isUnique(names) ? names : `${names} (${key})`
  }
  return new Map([...byKey].map(([key, names]) => [key, toTitle(key, names)]))
}

const toRights = (rows: readonly ReportRow[]): readonly string[] => [
  ...new Set(rows.map(({ right }) => formatRight(right))),
]

/** The rights of a user on a key; leads to the ways by which they came. */
function Cell({ user, rows }: { readonly user: string; readonly rows: readonly ReportRow[] }) {
  const key = rows[0]?.unique_identifier
  if (key === undefined) return <span className="quiet">–</span>
  const filter = new URLSearchParams({ user, ...(key !== '*' && { key }), layout: 'list' })
  return <Link to={`/ui/access?${filter}`}>{toRights(rows).join(', ')}</Link>
}
