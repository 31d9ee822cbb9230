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
import { totpOperations } from './totp/operations.ts'

/** Every endpoint of the service. Health and documentation are the runtime's. */
export const authOperations: readonly Operation<AuthServices>[] = [
  ...publicOperations,
  ...loginOperations,
  ...certifyOperations,
  ...sessionOperations,
  ...realmOperations,
  ...adminOperations,
  ...credentialOperations,
  ...totpOperations,
  ...appRoleOperations,
  ...orchestratorOperations,
  ...tokenOperations,
]
