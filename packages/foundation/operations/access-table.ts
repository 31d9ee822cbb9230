import type { Operation } from './types.ts'

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

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
