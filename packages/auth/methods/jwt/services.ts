import type { LoginServices } from '../../login/index.ts'
import type { IdentityProviders } from './identity-providers.ts'

export interface JwtServices extends LoginServices {
  readonly providers: IdentityProviders
}
