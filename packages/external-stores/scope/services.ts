import type { Clock } from '@warder/base'
import type {
  AccessServices,
  AlgorithmPolicy,
  Blocks,
  ExternalStoreName,
  GcmBudgets,
  LastUses,
  NamedKeys,
} from '@warder/keys'
import { defineOperation } from '@warder/server'
import type { Seal } from '@warder/storage'
import type { KnownGrants } from '../stores/granted-key.ts'
import type { StopSwitch } from '../stores/stop-switch.ts'

/** The external key stores, as the rest of the service knows them. */
export interface ExternalServices {
  readonly stopSwitch: StopSwitch
  readonly grants: KnownGrants
  /** The URL at which clouds reach this service, without a trailing slash. */
  readonly publicUrl: string
  /** Enabled stores, as they are described to callers. */
  readonly enabled: readonly (Readonly<Record<string, unknown>> & { readonly name: ExternalStoreName })[]
}

/** Services that the external key stores need. */
export interface ExternalStoreServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  readonly budgets: GcmBudgets
  /** Last uses of keys by users. */
  readonly uses: LastUses
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Keys that the settings name. */
  readonly namedKeys: NamedKeys
  /** Blocked principals, whose requests are refused. */
  readonly blocks: Blocks
  readonly external: ExternalServices
}

/** Declares an operation of this folder. */
export const define = defineOperation<ExternalStoreServices>()
