import type { TSchema } from 'typebox'
import type { ForeignMembers, Operation, OperationDeclaration } from './types.ts'

type Define<Services> = <
  Body extends TSchema | undefined = undefined,
  Path extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
>(
  declaration: OperationDeclaration<Services, Body, Path, Query>,
) => Operation<Services>

/**
 * Declares an operation of a service: `defineOperation<Services>()({ name, route, access, request, act … })`.
 * `input.body`, `.path` and `.query` have the static types of their schemas. The dispatcher checks each of them
 * against its schema before `access.check` and `act` run, which is what makes the narrowing below true.
 */
export function defineOperation<Services>(): Define<Services> {
  return (declaration) => declaration as unknown as Operation<Services>
}

/** Query parameters at addresses that show the same to every caller. */
export const fromProbes: ForeignMembers = {
  names: 'any',
  because:
    'Probes, load balancers and caches send this request with additional parameters, to bypass caches.',
}

/**
 * Throws when two operations share a name, or a method and path: the table of a service must be unambiguous.
 */
export function assertUniqueOperations(operations: readonly Operation<never>[]): void {
  const names = new Set<string>()
  const routes = new Set<string>()
  for (const operation of operations) {
    if (names.has(operation.name)) throw new Error(`two operations are named ${operation.name}`)
    names.add(operation.name)
    for (const method of operation.route.methods) {
      const key = `${method} ${operation.route.path.replaceAll(/\{[^}*]*(\*?)\**\}/g, '{$1}')}`
      if (routes.has(key)) throw new Error(`two operations have the route ${method} ${operation.route.path}`)
      routes.add(key)
    }
  }
}
