import type { Operation } from '@warder/foundation/operations'
import { adminOperations } from './admins/index.ts'
import { certifyOperations } from './certify/operations.ts'
import { loginOperations } from './login/index.ts'
import { appRoleOperations, orchestratorOperations, tokenOperations } from './machines/index.ts'
import { methods } from './methods/index.ts'
import { publicOperations } from './public-operations.ts'
import { realmRules } from './realm-rules.ts'
import { realmOperations } from './realms/operations.ts'
import { replyAfterAck, revocationOperations } from './revocations/index.ts'
import type { AuthServices } from './services.ts'
import { sessionOperations } from './sessions/operations.ts'
import { withStatedRealm } from './stated-realm.ts'
import { userOperations } from './users/index.ts'

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
