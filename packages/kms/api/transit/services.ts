import type { AuditTrail } from '@warder/foundation/audit'
import { defineOperation, type Operation } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import type { Seal } from '@warder/foundation/seal'
import type { AccessServices } from '../../access/index.ts'
import type { AlgorithmPolicy } from '../../crypto/index.ts'
import type { GcmBudgets, LastUses } from '../../keys/index.ts'

/** Services that the paths of Vault’s transit engine need. */
export interface TransitServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  readonly budgets: GcmBudgets
  /** Last uses of keys by users. */
  readonly uses: LastUses
  /** For records of batch items; everything else is recorded by the dispatcher. */
  readonly audit: AuditTrail
  /** Operations on a key by its id, which transit performs under the paths of Vault with all of their checks. */
  readonly keyOperations: {
    readonly rotate: Operation<TransitServices>
    readonly setRotation: Operation<TransitServices>
    readonly delete: Operation<TransitServices>
  }
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
}

/** Declares an operation of this folder. */
export const define = defineOperation<TransitServices>()
