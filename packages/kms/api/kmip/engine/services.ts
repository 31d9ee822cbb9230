import type { AuditTrail } from '@warder/foundation/audit'
import { defineOperation } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import type { Seal } from '@warder/foundation/seal'
import type { AccessServices, Blocks, Names, RestoreGate } from '../../../access/index.ts'
import type { FetchedCrls, RevocationConfig } from '../../../authority/index.ts'
import type { AlgorithmPolicy } from '../../../crypto/index.ts'
import type { PasswordLogin } from '../../../identity/index.ts'
import type { GcmBudgets, LastUses } from '../../../keys/index.ts'

/** Services that the KMIP front end needs. */
export interface KmipServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  /** Refuses requests of a restored installation that is held; undefined = it was not held when the service was built. */
  readonly restoreGate: RestoreGate | undefined
  readonly budgets: GcmBudgets
  /** Last uses of keys by users. */
  readonly uses: LastUses
  /** For records of batch items; everything else is recorded by the dispatcher. */
  readonly audit: AuditTrail
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Authentication still has to succeed, then everybody is `defaultUsername`. */
  readonly forceDefaultUsername: boolean
  /** Passwords in KMIP headers are ignored where the caller has shown a client certificate. */
  readonly ignoreHeaderPassword: boolean
  /** Keeps names apart from those who had them before. */
  readonly names: Names
  /** Blocked principals, whose requests are refused. */
  readonly blocks: Blocks
  /** undefined = nobody logs in with a password here. */
  readonly passwordLogin: PasswordLogin | undefined
  /** How authorities tell what was revoked. */
  readonly revocation: RevocationConfig
  /** CRLs of authorities that are not here. */
  readonly fetchedCrls: FetchedCrls
  /** true: Validate answers Unknown where a certificate names a CRL that cannot be had. */
  readonly requireRevocation: boolean
}

/** Declares an operation of this folder. */
export const define = defineOperation<KmipServices>()
