import type { Clock } from '@warder/foundation/runtime'
import type { LoginLimitServices } from '../login/index.ts'
import type { IdentityProviders } from '../methods/jwt/index.ts'
import type { TokenServices } from './tokens.ts'

/** What operations on machine identities stand on. */
export interface MachineServices extends TokenServices, LoginLimitServices {
  readonly clock: Clock
  /** Keeps the key sets of orchestrators. */
  readonly providers: Pick<IdentityProviders, 'keySet'>
}
