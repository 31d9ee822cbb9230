import type { AuditTrail } from '@warder/foundation/audit'
import { defineOperation } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import type { Seal } from '@warder/foundation/seal'
import type { AccessServices, Blocks, NamedKeys, Names, RestoreGate } from './access/index.ts'
import type { FetchedCrls, Maintenance, PublishedStatus, RevocationConfig } from './authority/index.ts'
import type { AlgorithmPolicy } from './crypto/index.ts'
import type { Ended } from './ended/index.ts'
import type { ExternalStoreName, KnownGrants, StopSwitch } from './external/index.ts'
import type { Directory, OidcLogin, PasswordLogin, SamlLogin } from './identity/index.ts'
import type { ContentKeys } from './jose/index.ts'
import type { ApplyCreationRules, GcmBudgets, LastUses, RotationPolicy } from './keys/index.ts'

/** The external key stores, as the rest of the service knows them. */
export interface ExternalServices {
  readonly stopSwitch: StopSwitch
  readonly grants: KnownGrants
  /** Where clouds reach this service, without a slash at its end. */
  readonly publicUrl: string
  /** Enabled stores, as callers are told of them. */
  readonly enabled: readonly (Readonly<Record<string, unknown>> & { readonly name: ExternalStoreName })[]
}

/** Services used by the operations of the key management service. */
export interface KmsServices extends AccessServices {
  readonly seal: Seal
  /** Rules of the owner that bind new objects of every protocol. */
  readonly applyCreationRules: ApplyCreationRules
  readonly clock: Clock
  /** Refuses requests of a restored installation that is held; undefined = it was not held when the service was built. */
  readonly restoreGate: RestoreGate | undefined
  /** How the settings rotate keys that say nothing themselves. */
  readonly rotation: RotationPolicy
  readonly budgets: GcmBudgets
  /** Last uses of keys by users. */
  readonly uses: LastUses
  readonly contentKeys: ContentKeys
  /** For records of batch items; everything else is recorded by the dispatcher. */
  readonly audit: AuditTrail
  /** Told of requests for approval; undefined = nobody is. */
  readonly notices: { tell(event: string, about: object): void } | undefined
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Authentication still has to succeed, then everybody is `defaultUsername`. */
  readonly forceDefaultUsername: boolean
  /** Passwords in KMIP headers are ignored where the caller has shown a client certificate. */
  readonly ignoreHeaderPassword: boolean
  /** Name of a user of a realm of the authentication service at this service. */
  nameOf(realm: string, username: string): string
  /** Keeps names apart from those who had them before. */
  readonly names: Names
  /** Keys that the settings name. */
  readonly namedKeys: NamedKeys
  /** Blocked principals, whose requests are refused. */
  readonly blocks: Blocks
  /** Ends at the authentication service; undefined = there is no feed. */
  readonly ended: Ended | undefined
  /** Whom the authentication service knows; undefined = it cannot be asked. */
  readonly directory: Directory | undefined
  /** undefined = nobody logs in with a password here. */
  readonly passwordLogin: PasswordLogin | undefined
  /** undefined = nobody logs in at an OpenID provider. */
  readonly oidcLogin: OidcLogin | undefined
  /** undefined = nobody logs in at the identity provider of a realm. */
  readonly samlLogin: SamlLogin | undefined
  /** Generated signing pairs get the tag `jwks`. */
  readonly tagSigningPairs: boolean
  readonly external: ExternalServices
  /** How authorities tell what was revoked. */
  readonly revocation: RevocationConfig
  /** Signs what authorities have due: CRLs, certificates of responders. */
  readonly maintenance: Maintenance
  /** CRLs of authorities that are not here. */
  readonly fetchedCrls: FetchedCrls
  /** true: Validate answers Unknown where a certificate names a CRL that cannot be had. */
  readonly requireRevocation: boolean
  /** Revocation lists and answers of OCSP, for everybody. */
  readonly published: PublishedStatus
  /** Keys that the JWKS shows at most; 0 = there is no JWKS. */
  readonly jwksKeys: number
}

/** Declares an operation of this service. */
export const define = defineOperation<KmsServices>()

/** Everybody who is authenticated; what else is asked for is checked by the operation's own access. */
export const signedIn = { name: 'signed in' } as const
export const anybody = { name: 'public', public: true } as const
