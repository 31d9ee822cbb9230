import type { AuditTrail } from '@warder/audit'
import type { FetchedCrls, RevocationConfig } from '@warder/authority'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { PasswordLogin } from '@warder/identity'
import type { GcmBudgets, LastUses, Names, RestoreGate } from '@warder/keys'
import { defineOperation } from '@warder/server'
import type { Seal } from '@warder/storage'
import type { DeviceServices } from '../devices/device-operations.ts'

/** Services that the KMIP front end needs. */
export interface KmipServices extends DeviceServices {
  readonly seal: Seal
  /** Refuses requests of a restored installation that is held; undefined = it was not held when the service was built. */
  readonly restoreGate: RestoreGate | undefined
  readonly budgets: GcmBudgets
  /** Last uses of keys by users. */
  readonly uses: LastUses
  /** Records batch items; the dispatcher records everything else. */
  readonly audit: AuditTrail
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Algorithm policy of this server, including `fips`. Every operation of REST and KMIP applies it. */
  readonly policy: AlgorithmPolicy
  /** true: after successful authentication every caller is `defaultUsername`. */
  readonly forceDefaultUsername: boolean
  /** true: passwords in KMIP headers are ignored when the caller has a client certificate. */
  readonly ignoreHeaderPassword: boolean
  /** true: KMIP 3.0 (committee draft) is served, too. */
  readonly kmipDraft: boolean
  /** Distinguishes users from earlier users of the same name. */
  readonly names: Names
  /** undefined = password login is off. */
  readonly passwordLogin: PasswordLogin | undefined
  /** How authorities publish revocations. */
  readonly revocation: RevocationConfig
  /** CRLs of external authorities. */
  readonly fetchedCrls: FetchedCrls
  /** true: Validate answers Unknown when a CRL that a certificate names cannot be fetched. */
  readonly requireRevocation: boolean
}

/** Declares an operation of this folder. */
export const define = defineOperation<KmipServices>()
