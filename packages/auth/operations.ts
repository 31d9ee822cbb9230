import type { Operation } from '@warder/foundation/operations'
import { adminOperations } from './admins/operations.ts'
import { certifyOperations } from './certify/operations.ts'
import { credentialOperations } from './credentials/operations.ts'
import { loginOperations } from './login/operations.ts'
import { appRoleOperations } from './machines/approle-operations.ts'
import { orchestratorOperations } from './machines/orchestrator-operations.ts'
import { tokenOperations } from './machines/token-operations.ts'
import { publicOperations } from './public-operations.ts'
import { realmOperations } from './realms/operations.ts'
import type { AuthServices } from './services.ts'
import { sessionOperations } from './sessions/operations.ts'
import { withStatedRealm } from './stated-realm.ts'
import { subjectOperations } from './subjects/operations.ts'
import { totpOperations } from './totp/operations.ts'

/** Nothing here takes more than a realm with its longest lists; endpoints with less say so themselves. */
const bodyLimit = 1024 * 1024

const operations: readonly Operation<AuthServices>[] = [
  ...publicOperations,
  ...loginOperations,
  ...certifyOperations,
  ...sessionOperations,
  ...realmOperations,
  ...adminOperations,
  ...credentialOperations,
  ...subjectOperations,
  ...totpOperations,
  ...appRoleOperations,
  ...orchestratorOperations,
  ...tokenOperations,
]

/** Every endpoint of the service. Health and documentation are the runtime's. */
export const authOperations: readonly Operation<AuthServices>[] = operations.map((operation) =>
  withStatedRealm({ bodyLimit, ...operation }),
)
