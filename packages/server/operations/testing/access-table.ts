import type { ForeignMembers, Operation } from '../types.ts'

/** One row of the authorization matrix. */
export interface AccessRow {
  readonly operation: string
  readonly method: string
  readonly path: string
  /** The declared access, e.g. `key right: encrypt`. */
  readonly access: string
  readonly public: boolean
}

/** The authorization matrix of a service, read off its table of operations, sorted by path and method. */
export function accessTable(operations: readonly Operation<never>[]): readonly AccessRow[] {
  return operations
    .flatMap((operation) =>
      operation.route.methods.map((method) => ({
        operation: operation.name,
        method,
        path: operation.route.path,
        access: operation.access.name,
        public: operation.access.public === true,
      })),
    )
    .sort((a, b) => compare(a.path, b.path) || compare(a.method, b.method))
}

/** Routes whose bodies or queries may have members that have no effect. */
export interface ToleranceRow {
  readonly paths: readonly string[]
  readonly members: string
  readonly because: string
}

/** The routes that tolerate members, or query parameters, which they do not declare. All others refuse them. */
export function toleranceTable(
  operations: readonly Operation<never>[],
  kind: 'foreignMembers' | 'foreignParameters',
): readonly ToleranceRow[] {
  const hasAny = ({ request }: Operation<never>) => kind === 'foreignParameters' || request !== undefined
  const rows = Map.groupBy(
    operations.filter((operation) => hasAny(operation) && operation[kind] !== undefined),
    (operation) => JSON.stringify(operation[kind]),
  )
  return rows
    .entries()
    .map(([tolerance, same]) => {
      const { names, because } = JSON.parse(tolerance) as ForeignMembers
      const paths = [...new Set(same.map(({ route }) => route.path))].sort(compare)
      return {
        paths,
        members: names === 'any' ? 'any' : names.map((name) => `\`${name}\``).join(', '),
        because,
      }
    })
    .toArray()
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
