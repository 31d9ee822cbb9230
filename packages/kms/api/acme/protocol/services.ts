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
  /** Algorithm policy of this server, including `fips`. Every operation of REST and KMIP applies it. */
  readonly policy: AlgorithmPolicy
  /** Suspended principals, whose requests are refused. */
  readonly blocks: Blocks
  /** How authorities publish revocations. */
  readonly revocation: RevocationConfig
}

/** Declares an operation of this folder. */
export const define = defineOperation<AcmeServices>()
