import type { Clock } from '@warder/foundation/runtime'
import type { LoginLimitServices } from '../login/index.ts'
import type { IdentityProviders } from '../methods/jwt/index.ts'
import type { TokenServices } from './tokens.ts'

/** Services used by operations on machine identities. */
export interface MachineServices extends TokenServices, LoginLimitServices {
  readonly clock: Clock
  /** Caches the key sets of orchestrators. */
  readonly providers: Pick<IdentityProviders, 'keySet'>
}
