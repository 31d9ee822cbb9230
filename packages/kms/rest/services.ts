import type { AuditTrail } from '@warder/audit'
import type { Clock } from '@warder/base'
import type { AlgorithmPolicy, ContentKeys } from '@warder/crypto'
import type { ExternalServices } from '@warder/external-stores'
import type { Directory, Ended, HandoverLogin, OidcLogin, PasswordLogin, SamlLogin } from '@warder/identity'
import type {
  AccessServices,
  Blocks,
  GcmBudgets,
  LastUses,
  Names,
  PastRights,
  RotationPolicy,
} from '@warder/keys'
import type {
  AuditReaderServices,
  HealthDetailsServices,
  LocalAuthorityReader,
  Notices,
} from '@warder/runtime'
import { defineOperation } from '@warder/server'
import type { Seal } from '@warder/storage'

/** An HSM, in the form of the deployed servers. */
interface HsmDescription {
  /** Prefix of the identifiers of its keys, `hsm::NAME`. */
  readonly prefix: string
  readonly model: string
  readonly slots: readonly { readonly slot_id: number | null; readonly accessible: boolean }[]
}

/** Services that the operations of the REST API need. */
export interface RestServices extends AccessServices, AuditReaderServices, HealthDetailsServices {
  readonly seal: Seal
  readonly clock: Clock
  /** Rotation by the settings, for keys without a schedule of their own. */
  readonly rotation: RotationPolicy
  readonly budgets: GcmBudgets
  /** Last uses of keys by users. */
  readonly uses: LastUses
  /** Rights at a date, for reports. */
  readonly pastRights: PastRights
  readonly contentKeys: ContentKeys
  /** For records of batch items; everything else is recorded by the dispatcher. */
  readonly audit: AuditTrail
  /** undefined = the settings name no receiver. */
  readonly notices: Pick<Notices, 'tell'> | undefined
  /** The HSMs of the settings, and whether each can be used. */
  describeHsms(): Promise<readonly HsmDescription[]>
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Policy of this server, `fips` included: asked by every operation, of REST and of KMIP. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Name of a user of a realm of the authentication service at this service. */
  nameOf(realm: string, username: string): string
  /** Separates the users of a name from earlier users of the same name. */
  readonly names: Names
  /** Blocked principals, whose requests are refused. */
  readonly blocks: Blocks
  /** Ends at the authentication service; undefined = there is no feed. */
  readonly ended: Ended | undefined
  /** Users of the authentication service; undefined = it cannot be queried. */
  readonly directory: Directory | undefined
  /** undefined = password logins are disabled here. */
  readonly passwordLogin: PasswordLogin | undefined
  /** undefined = logins at an OpenID provider are disabled. */
  readonly oidcLogin: OidcLogin | undefined
  /** undefined = logins at the identity provider of a realm are disabled. */
  readonly samlLogin: SamlLogin | undefined
  /** undefined = sessions of the authentication service are not handed over to the web page. */
  readonly handoverLogin: HandoverLogin | undefined
  /** Address of the authentication service for browsers. */
  readonly authPublicUrl: string | undefined
  readonly localAuthority: LocalAuthorityReader
  /** Generated signing pairs get the tag `jwks`. */
  readonly tagSigningPairs: boolean
  readonly external: ExternalServices
  /** Max keys in the JWKS; 0 = there is no JWKS. */
  readonly jwksKeys: number
}

/** Declares an operation of the REST API. */
export const define = defineOperation<RestServices>()
