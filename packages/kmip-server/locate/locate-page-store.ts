import { listGrantees, type ObjectRow, objectColumns } from '@warder/keys'
import type { Caller } from '@warder/server'
import { type Query, query, type SqlValue } from '@warder/storage'
import type { Condition } from './locate-condition-store.ts'

type AnyQuery<R> = Query<readonly SqlValue[], R>

/** A statement with its parameters. */
export interface Statement<R> {
  readonly query: AnyQuery<R>
  readonly params: readonly SqlValue[]
}

/** Owner of the objects that are searched. */
export interface Searcher extends Caller {
  /** true: crypto officers find every object. */
  readonly all: boolean
}

/** Selected columns of each object: its identifier alone, or the whole row. */
export type Columns = 'id' | 'row'

/**
 * Prepared statements are cached by their text, and requests determine the text: beyond this number of different
 * statements only the simplest are created (see `buildPlan`).
 */
const maxTexts = 400
const known = new Map<string, AnyQuery<unknown>>()

/** Would these conditions add statements beyond the bound? */
export function isTooMany(conditions: readonly Condition[]): boolean {
  return known.size >= maxTexts && !known.has(countText(source(undefined, conditions), false))
}

function statement<R>(text: string, params: readonly SqlValue[]): Statement<R> {
  const found = known.get(text) ?? query<readonly SqlValue[], unknown>(text)
  known.set(text, found)
  return { query: found as AnyQuery<R>, params }
}

interface Source {
  readonly where: string
  readonly params: readonly SqlValue[]
}

/** Every object that meets the conditions and that the caller may find as its owner or by a grant of `locate`. */
function listSources(
  { name, roles = [], all }: Searcher,
  conditions: readonly Condition[],
): readonly Source[] {
  if (all) return [source(undefined, conditions)]
  // If another condition is selective, the index of owners would read many more rows: this expression
  // prevents its use.
  const owner = conditions.some(({ selective }) => selective) ? "o.owner || ''" : 'o.owner'
  const grantees = listGrantees({ name, roles })
  const granted = `o.id IN (SELECT g.object_id FROM object_grant g
    WHERE g.user_id IN (${grantees.text}) AND g.operation = 'locate')`
  return [
    source({ where: `${owner} = ?`, params: [name] }, conditions),
    source({ where: `${granted} AND o.owner <> ?`, params: [...grantees.params, name] }, conditions),
    source(
      {
        where: `o.id IN (SELECT k.object_id FROM tag_grant t CROSS JOIN object_tag k
          WHERE t.user_id IN (${grantees.text}) AND t.operation = 'locate' AND k.tag = t.tag)
          AND EXISTS (SELECT 1 FROM object_tag k JOIN tag_grant t ON t.tag = k.tag
            WHERE k.object_id = o.id AND t.owner = o.owner AND t.operation = 'locate' AND t.user_id IN (${grantees.text}))
          AND NOT ${granted} AND o.owner <> ?`,
        params: [...grantees.params, ...grantees.params, ...grantees.params, name],
      },
      conditions,
    ),
  ]
}

function source(visible: Source | undefined, conditions: readonly Condition[]): Source {
  const parts = [...(visible === undefined ? [] : [visible.where]), ...conditions.map(({ text }) => text)]
  return {
    where: parts.length === 0 ? '1 = 1' : parts.join(' AND '),
    params: [...(visible?.params ?? []), ...conditions.flatMap(({ params }) => params)],
  }
}

/** A page of results, the newest identifiers first. @param below undefined = from the beginning */
export function pageStatement<C extends Columns>(
  searcher: Searcher,
  conditions: readonly Condition[],
  columns: C,
  {
    below,
    offset,
    pageLimit,
  }: { readonly below: string | undefined; readonly offset: number; readonly pageLimit: number },
): Statement<C extends 'id' ? { readonly id: string } : ObjectRow> {
  const list = columns === 'id' ? 'id' : objectColumns
  const after = below === undefined ? '' : ' AND o.id < ?'
  const sources = listSources(searcher, conditions)
  const parts = sources.map(
    ({ where }) => `SELECT ${list} FROM managed_object o WHERE ${where}${after} ORDER BY o.id DESC LIMIT ?`,
  )
  // Each part returns as many rows as the whole page can need.
  const params = sources.flatMap((part) => [
    ...part.params,
    ...(below === undefined ? [] : [below]),
    offset + pageLimit,
  ])
  const [first = '', ...others] = parts
  const more = others.map((part, index) => ` UNION ALL SELECT * FROM (${part}) granted${index}`)
  const found = others.length === 0 ? first : `SELECT * FROM (${first}) mine${more.join('')}`
  return statement(`SELECT * FROM (${found}) found ORDER BY id DESC LIMIT ? OFFSET ?`, [
    ...params,
    pageLimit,
    offset,
  ])
}

/** Counts of one statement. */
export interface Counted {
  readonly total: number
  /** The lowest identifier that was counted: the next statement continues below it. null = there was none. */
  readonly lowest: string | null
}

/** One for each source: counts the next `pageLimit` objects below an identifier, or from the beginning. */
export function countStatements(
  searcher: Searcher,
  conditions: readonly Condition[],
  pageLimit: number,
): readonly ((below: string | undefined) => Statement<Counted>)[] {
  return listSources(searcher, conditions).map((part) => (below) => {
    const params = [...part.params, ...(below === undefined ? [] : [below]), pageLimit]
    return statement(countText(part, below !== undefined), params)
  })
}

function countText({ where }: Source, isBelow: boolean): string {
  const below = isBelow ? ' AND o.id < ?' : ''
  return `SELECT COUNT(*) AS total, MIN(id) AS lowest FROM
    (SELECT o.id FROM managed_object o WHERE ${where}${below} ORDER BY o.id DESC LIMIT ?) part`
}
