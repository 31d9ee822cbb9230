import { defineOperation } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import type { Seal } from '@warder/foundation/seal'
import type { AccessServices } from '../../access/index.ts'
import type { AlgorithmPolicy } from '../../crypto/index.ts'
import type { Directory } from '../../identity/index.ts'
import type { ExternalServices } from '../external/scope/services.ts'

/** Services that the operations of crypto officers need. */
export interface OfficerServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  /** Sends notices of requests for approval; undefined = none are sent. */
  readonly notices: { tell(event: string, about: object): void } | undefined
  /** Algorithm policy of this server, `fips` included: every operation of REST and KMIP checks it. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Users of the authentication service; undefined = it cannot be queried. */
  readonly directory: Directory | undefined
  readonly external: ExternalServices
}

/** Declares an operation of this folder. */
export const define = defineOperation<OfficerServices>()
