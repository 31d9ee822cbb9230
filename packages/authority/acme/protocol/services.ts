import type { Clock } from '@warder/base'
import type { AccessServices, AlgorithmPolicy, Blocks } from '@warder/keys'
import { defineOperation } from '@warder/server'
import type { Seal } from '@warder/storage'
import type { RevocationConfig } from '../../register/settings.ts'

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
