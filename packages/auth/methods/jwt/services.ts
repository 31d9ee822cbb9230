import type { LoginServices } from '../../login/services.ts'
import type { IdentityProviders } from './identity-providers.ts'

export interface JwtServices extends LoginServices {
  readonly providers: IdentityProviders
}
