import { defineOperation } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import type { Seal } from '@warder/foundation/seal'
import type { AccessServices, Blocks } from '../../../access/index.ts'
import type { RevocationConfig } from '../../../authority/index.ts'
import type { AlgorithmPolicy } from '../../../crypto/index.ts'

/** Services that the ACME server needs. */
export interface AcmeServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
  /** Blocked principals, whose requests are refused. */
  readonly blocks: Blocks
  /** How authorities tell what was revoked. */
  readonly revocation: RevocationConfig
}

/** Declares an operation of this folder. */
export const define = defineOperation<AcmeServices>()
