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
  /** Told of requests for approval; undefined = nobody is. */
  readonly notices: { tell(event: string, about: object): void } | undefined
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Whom the authentication service knows; undefined = it cannot be asked. */
  readonly directory: Directory | undefined
  readonly external: ExternalServices
}

/** Declares an operation of this folder. */
export const define = defineOperation<OfficerServices>()
