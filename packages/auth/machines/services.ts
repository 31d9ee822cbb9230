import type { Clock } from '@warder/base'
import type { LoginLimitServices } from '../login/services.ts'
import type { IdentityProviders } from '../methods/jwt/identity-providers.ts'
import type { TokenServices } from './tokens.ts'

/** Services used by operations on machine identities. */
export interface MachineServices extends TokenServices, LoginLimitServices {
  readonly clock: Clock
  /** Caches the key sets of orchestrators. */
  readonly providers: Pick<IdentityProviders, 'keySet'>
}
