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

/** Nothing here takes more than a realm with its longest lists; endpoints with less say so themselves. */
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

/** Every endpoint of the service. Health and documentation are the runtime's. */
export const authOperations: readonly Operation<AuthServices>[] = operations.map((operation) =>
  replyAfterAck(withStatedRealm({ bodyLimit, ...operation })),
)
