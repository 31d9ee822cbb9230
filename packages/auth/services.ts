import type { Outbound } from '@warder/foundation/outbound'
import type { Clock } from '@warder/foundation/runtime'
import type { CertifyServices } from './certify/operations.ts'
import type { MachineServices } from './machines/index.ts'
import type { MethodServices } from './methods/index.ts'
import type { RevocationServices } from './revocations/index.ts'
import type { AuthConfig } from './settings.ts'
import type { Signer } from './signing/index.ts'

/**
 * Services used by the operations in one worker: the union of those that the folders declare. Each folder declares
 * its own needs and sees only these.
 */
export interface AuthServices
  extends MethodServices,
    Omit<MachineServices, 'providers'>,
    CertifyServices,
    RevocationServices {
  readonly config: AuthConfig
  readonly clock: Clock
  readonly outbound: Outbound
  readonly sessionSigner: Signer
}
