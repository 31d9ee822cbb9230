import type { TokenBuckets } from '@warder/foundation/http'
import type { Outbound } from '@warder/foundation/outbound'
import type { Clock } from '@warder/foundation/runtime'
import type { Seal } from '@warder/foundation/seal'
import type { Database } from '@warder/foundation/sql'
import type { Metrics } from '@warder/foundation/telemetry'
import type { PasswordHasher } from './credentials/index.ts'
import type { IdentityProviders } from './login/identity-providers.ts'
import type { UsedTokens } from './machines/index.ts'
import type { SessionBook } from './sessions/index.ts'
import type { AuthConfig } from './settings.ts'
import type { Signer } from './signing/index.ts'
import type { Attempts, FailureCounter } from './throttle/index.ts'

/** What the operations of the service stand on, in one worker. */
export interface AuthServices {
  readonly db: Database
  readonly seal: Seal
  readonly clock: Clock
  readonly outbound: Outbound
  readonly config: AuthConfig
  readonly metrics: Metrics
  /** Unix seconds. */
  now(): number
  readonly sessions: SessionBook
  readonly usedTokens: UsedTokens
  readonly sessionSigner: Signer
  /** Whether client certificates are asked for in the handshake. */
  readonly asksForCertificates: boolean
  /** undefined = certificate signing is not configured. */
  readonly certificateSigner: Signer | undefined
  readonly hasher: PasswordHasher
  readonly providers: IdentityProviders
  readonly failures: FailureCounter
  readonly attempts: Attempts
  /** Attempts that bring a code; gates of their own, always entered after those of `attempts`. */
  readonly codeAttempts: Attempts
  /** Logins of every kind, by address. */
  readonly loginBuckets: TokenBuckets
}
