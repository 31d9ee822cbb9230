import { useVirtualizer } from '@tanstack/react-virtual'
import {
  memo,
  type ReactNode,
  type Ref,
  useEffect,
  useLayoutEffect,
  useRef,
  useSyncExternalStore,
} from 'react'
import { Button, Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { texts } from '../texts.ts'
import { copyText } from './copy.tsx'
import { Skeleton } from './skeleton.tsx'
import { type CellValue, toCsv, toJson } from './table-text.ts'

export interface Column<Row> {
  readonly title: string
  /** For copies, and for the cell unless `cell` draws it. */
  readonly value: (row: Row) => CellValue
  readonly cell?: (row: Row) => ReactNode
  /** The service sorts: its name for the column. */
  readonly sort?: string
}

export interface Sort {
  readonly by: string
  readonly isDescending: boolean
}

interface DataTableProps<Row> {
  /** What the rows are: the name of the table for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** undefined: not loaded yet. */
  readonly rows: readonly Row[] | undefined
  readonly rowKey: (row: Row) => string
  /** The `warder` command that lists the same. */
  readonly command: string
  /** Instead of a table without rows: what to do next. */
  readonly empty: ReactNode
  readonly sort?: Sort
  readonly onSort?: (sort: Sort) => void
  /** More rows exist: loads them. */
  readonly loadMore?: (() => void) | undefined
  readonly isLoadingMore?: boolean
}

const rowHeight = 40
/** Estimates: cards are measured once they are drawn. */
const cardHeight = { first: 56, line: 44 } as const
/** Rows that are drawn above and below the visible ones. */
const overscan = { rows: 6, cards: 2 } as const
/** So many rows before the end the next page is loaded. */
const loadAhead = 30

/** As in the rules for cards of the style sheet. */
const narrow = window.matchMedia('(max-width: 600px)')
function subscribeToWidth(listener: () => void): () => void {
  narrow.addEventListener('change', listener)
  return () => narrow.removeEventListener('change', listener)
}
const isNarrow = (): boolean => narrow.matches

/**
 * A table of any length: only the visible rows are in the page, and the next ones are loaded at the end. On a phone each
 * row is a card.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const {
    caption,
    columns,
    rows,
    rowKey,
    command,
    empty,
    sort,
    onSort,
    loadMore,
    isLoadingMore = false,
  } = props
  const region = useRef<HTMLElement>(null)
  const areCards = useSyncExternalStore(subscribeToWidth, isNarrow)
  const virtual = useVirtualizer({
    count: rows?.length ?? 0,
    getScrollElement: () => region.current,
    estimateSize: () =>
      areCards ? cardHeight.first + Math.ceil((columns.length - 1) / 2) * cardHeight.line : rowHeight,
    overscan: areCards ? overscan.cards : overscan.rows,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was measured is of the other form
  useLayoutEffect(() => virtual.measure(), [virtual, areCards])
  const visible = virtual.getVirtualItems()
  const lastVisible = visible.at(-1)?.index ?? -1
  const isAtEnd = rows !== undefined && lastVisible >= rows.length - loadAhead
  useEffect(() => {
    if (isAtEnd && !isLoadingMore) loadMore?.()
  }, [isAtEnd, isLoadingMore, loadMore])
  // A page may be empty and have a next one.
  if (rows === undefined || (rows.length === 0 && loadMore !== undefined)) return <Skeleton />
  if (rows.length === 0) return empty
  const before = visible[0]?.start ?? 0
  const after = virtual.getTotalSize() - (visible.at(-1)?.end ?? 0)
  return (
    <div className="data-table">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached with the keyboard */}
      <section className="table-scroll" ref={region} tabIndex={0} aria-label={caption}>
        <table aria-rowcount={loadMore === undefined ? rows.length + 1 : -1}>
          <caption className="hidden">{caption}</caption>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <HeaderCell key={column.title} column={column} sort={sort} onSort={onSort} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer height={before} columns={columns.length} />
            {visible.map(({ index, key }) => {
              const row = rows[index]
              return (
                row !== undefined && (
                  <TableRow
                    key={rowKey(row) ?? key}
                    {...{ columns, row, index }}
                    measure={areCards ? virtual.measureElement : undefined}
                  />
                )
              )
            })}
            <Spacer height={after} columns={columns.length} />
          </tbody>
        </table>
      </section>
      <div className="table-foot">
        <span className="quiet" role="status">
          {texts.parts.rowsLoaded(rows.length, loadMore !== undefined)}
        </span>
        {loadMore !== undefined && (
          <button type="button" className="button" disabled={isLoadingMore} onClick={loadMore}>
            {texts.parts.more}
          </button>
        )}
        <CopyMenu columns={columns} rows={rows} command={command} />
      </div>
    </div>
  )
}

const formatValue = (value: CellValue): ReactNode => (
  <bdi>{(Array.isArray(value) ? value.join(', ') : String(value ?? '')) || '–'}</bdi>
)

interface TableRowProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly row: Row
  readonly index: number
  readonly measure: Ref<HTMLTableRowElement> | undefined
}

/** Drawn once, although the table is drawn for each step of scrolling. */
const TableRow = memo(function TableRow<Row>({ columns, row, index, measure }: TableRowProps<Row>) {
  return (
    <tr ref={measure} data-index={index} aria-rowindex={index + 2}>
      {columns.map((column) => (
        <td key={column.title} data-label={column.title}>
          {column.cell?.(row) ?? formatValue(column.value(row))}
        </td>
      ))}
    </tr>
  )
}) as <Row>(props: TableRowProps<Row>) => ReactNode

/** Stands for rows that are not drawn. */
function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
    <tr aria-hidden="true" className="spacer">
      <td colSpan={columns} style={{ height }} />
    </tr>
  )
}

function HeaderCell<Row>(props: {
  readonly column: Column<Row>
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
}) {
  const { column, sort, onSort } = props
  const { title, sort: by } = column
  if (by === undefined || onSort === undefined) return <th scope="col">{title}</th>
  const isSorted = sort?.by === by
  const isDescending = isSorted && sort.isDescending
  return (
    <th scope="col" aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        className="button plain"
        onClick={() => onSort({ by, isDescending: isSorted && !isDescending })}
      >
        {title} <span aria-hidden="true">{isSorted ? (isDescending ? '▼' : '▲') : '↕'}</span>
      </button>
    </th>
  )
}

/** Copies rows as CSV, as JSON, and as the command that lists the same. */
export function CopyMenu<Row>(props: {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly command: string
}) {
  const { columns, rows, command } = props
  const titles = columns.map(({ title }) => title)
  const cells = () => rows.map((row) => columns.map(({ value }) => value(row)))
  return (
    <MenuTrigger>
      <Button className="button">{texts.parts.copyTable}</Button>
      <Popover className="popover">
        <Menu className="menu">
          <MenuItem onAction={() => void copyText(toCsv([titles, ...cells()]))}>{texts.parts.asCsv}</MenuItem>
          <MenuItem onAction={() => void copyText(toJson(titles, cells()))}>{texts.parts.asJson}</MenuItem>
          <MenuItem onAction={() => void copyText(command)}>{texts.parts.asCommand}</MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
