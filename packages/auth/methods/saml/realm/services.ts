import type { createPeerSecretCheck } from '@warder/server'
import type { LoginServices } from '../../../login/services.ts'
import type { SpKeys } from '../keys/sp-keys.ts'
import type { PendingLimiter } from '../store/pending-limiter.ts'
import type { Verification } from '../thread/verification.ts'

/** Services used by SAML, besides those of a login. */
export interface SamlServices extends LoginServices {
  readonly spKeys: SpKeys
  readonly samlVerification: Verification
  readonly samlPendingLimiter: PendingLimiter
  /** Whether a header contains the peer secret of the installation. */
  readonly isPeer: ReturnType<typeof createPeerSecretCheck>
}
