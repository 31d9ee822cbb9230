import type { Clock } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import type { CertifyServices } from './certify/operations.ts'
import type { MachineServices } from './machines/services.ts'
import type { MethodServices } from './methods/methods.ts'
import type { RevocationServices } from './revocations/operations.ts'
import type { AuthConfig } from './settings.ts'
import type { Signer } from './signing/signing-keys.ts'

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
