import type { HttpMethod, Operation } from '@warder/server'
import { adminOperations } from './admins/operations.ts'
import { certifyOperations } from './certify/operations.ts'
import { loginOperations } from './login/operations.ts'
import { appRoleOperations } from './machines/approle-operations.ts'
import { orchestratorOperations } from './machines/orchestrator-operations.ts'
import { tokenOperations } from './machines/token-operations.ts'
import { methods } from './methods/methods.ts'
import { publicOperations } from './public-operations.ts'
import { realmRules } from './realm-rules.ts'
import { realmOperations } from './realms/operations.ts'
import { type RevocationServices, revocationOperations } from './revocations/operations.ts'
import type { AuthServices } from './services.ts'
import { sessionOperations } from './sessions/operations.ts'
import { withStatedRealm } from './stated-realm.ts'
import { userOperations } from './users/user-operations.ts'

const reading: ReadonlySet<HttpMethod> = new Set(['GET', 'HEAD', 'LIST'])

/** Delays the reply of an operation until every subscriber of the revocation feed has acknowledged the revocation. */
function replyAfterAck<Services extends RevocationServices>(
  operation: Operation<Services>,
): Operation<Services> {
  if (operation.route.methods.every((method) => reading.has(method))) return operation
  return {
    ...operation,
    async act(input, context) {
      const result = await operation.act(input, context)
      await context.services.revocations.waitForAcks()
      return result
    },
  }
}

/** The default body limit fits a realm with its longest lists; endpoints with a smaller limit declare it. */
const bodyLimit = 1024 * 1024

const operations: readonly Operation<AuthServices>[] = [
  ...publicOperations,
  ...loginOperations(methods),
  ...certifyOperations,
  ...sessionOperations,
  ...revocationOperations,
  ...userOperations,
  ...realmOperations(realmRules),
  ...adminOperations,
  ...methods.flatMap((method) => method.operations(methods)),
  ...appRoleOperations,
  ...orchestratorOperations,
  ...tokenOperations,
]

/** Every endpoint of the service. The runtime provides health and documentation. */
export const authOperations: readonly Operation<AuthServices>[] = operations.map((operation) =>
  replyAfterAck(withStatedRealm({ bodyLimit, ...operation })),
)
