import type { Operation } from '@warder/server'
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
import { revocationOperations } from './revocations/operations.ts'
import { replyAfterAck } from './revocations/reply-after-ack.ts'
import type { AuthServices } from './services.ts'
import { sessionOperations } from './sessions/operations.ts'
import { withStatedRealm } from './stated-realm.ts'
import { userOperations } from './users/user-operations.ts'

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
