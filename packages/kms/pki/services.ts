import type { Maintenance, PublishedStatus, RevocationConfig } from '@warder/authority'
import type { Clock } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { AccessServices, LastUses } from '@warder/keys'
import { defineOperation } from '@warder/server'
import type { Seal } from '@warder/storage'

/** Services that the operations of certificates need. */
export interface PkiServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  /** Last uses of keys by users. */
  readonly uses: LastUses
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Algorithm policy of this server, including `fips`. Every operation of REST and KMIP applies it. */
  readonly policy: AlgorithmPolicy
  /** Generated signing pairs get the tag `jwks`. */
  readonly tagSigningPairs: boolean
  /** How authorities publish revocations. */
  readonly revocation: RevocationConfig
  /** Signs documents of authorities that are due: CRLs and responder certificates. */
  readonly maintenance: Maintenance
  /** Public CRLs and OCSP responses. */
  readonly published: PublishedStatus
}

/** Declares an operation of this folder. */
export const define = defineOperation<PkiServices>()
