import type { AuditTrail } from '@warder/audit'
import type { Clock } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { AccessServices, GcmBudgets, LastUses } from '@warder/keys'
import { defineOperation, type Operation } from '@warder/server'
import type { Seal } from '@warder/storage'

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
    readonly createAlias: Operation<TransitServices>
  }
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
}

/** Declares an operation of this folder. */
export const define = defineOperation<TransitServices>()
