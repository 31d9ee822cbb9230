import type { LoginServices } from '../../login/services.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { PasswordPolicySettings } from './password-rules.ts'

export interface PasswordServices extends LoginServices {
  readonly hasher: PasswordHasher
  readonly config: PasswordPolicySettings
}
