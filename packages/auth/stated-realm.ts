import { failure } from '@warder/base'
import type { Access, Operation, OperationContext, OperationInput } from '@warder/server'
import Type, { type TSchema } from 'typebox'
import { findMachineToken, requireSession } from './callers/callers.ts'
import type { AuthServices } from './services.ts'

const StatedRealm = Type.Optional(
  Type.String({ maxLength: 256, description: 'The realm in the path, or of the caller.' }),
)

/**
 * Adds a check to every operation that needs a credential: `?realm=` is optional and must name the realm of the path
 * or that of the caller. Operations that declare the parameter define its meaning themselves.
 */
export function withStatedRealm(operation: Operation<AuthServices>): Operation<AuthServices> {
  const { access } = operation
  const declared = listQueryParameters(operation)
  if (access.public === true || 'realm' in declared) return operation
  const checked: Access<AuthServices> = {
    ...access,
    async check(input, context) {
      await access.check?.(input, context)
      if (input.query.realm !== undefined) requireStatedRealm(input, context)
    },
  }
  return { ...operation, access: checked, queryParameters: Type.Object({ ...declared, realm: StatedRealm }) }
}

/** The query parameters that an operation declares, by name. */
function listQueryParameters({
  name,
  queryParameters,
}: Operation<AuthServices>): Readonly<Record<string, TSchema>> {
  if (queryParameters === undefined) return {}
  const { properties } = queryParameters as { readonly properties?: Record<string, TSchema> }
  if (properties === undefined) throw new Error(`${name}: its query parameters must be one object`)
  return properties
}

/** @throws failure('unauthorized') when `?realm=` names neither the realm of the path nor that of the caller */
function requireStatedRealm({ path, query }: OperationInput, context: OperationContext<AuthServices>): void {
  const own = findMachineToken(context)?.realm ?? requireSession(context).session.realm
  if (query.realm === path.realm_id || query.realm === own) return
  throw failure('unauthorized', 'There is no valid session of this realm.')
}
