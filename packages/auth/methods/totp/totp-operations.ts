import type { LoginMethod } from '../../login/method.ts'
import type { LoginServices } from '../../login/services.ts'
import { totpOperations } from './operations.ts'
import { totpProof } from './second-factor.ts'
import { totpSettings } from './settings.ts'

/** Second factor: a code of an authenticator app, after the first proof of any other method. */
export const totp: LoginMethod<LoginServices> = {
  name: 'totp',
  settings: totpSettings,
  second: totpProof,
  operations: totpOperations,
}
