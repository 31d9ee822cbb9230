import type { Operation, OperationContext } from '@warder/foundation/operations'
import type { Seal } from '@warder/foundation/seal'
import type { Change, Database } from '@warder/foundation/sql'
import type { AuthScheme, Subject } from '../identity/index.ts'
import type { EndingServices, Realm, RealmEndings, RealmMember } from '../realms/index.ts'
import type { Session } from '../sessions/index.ts'
import type { Credential, CredentialOf } from './authorization.ts'
import type { LoginRefused } from './refusal.ts'

/** A condition that was proven before a commit and must hold when it is made; `lost` is the refusal if it does not. */
export interface Proof {
  readonly holds: Change
  lost(): LoginRefused
}

/** Somebody whose first proof holds. */
export interface Proven {
  readonly realm: Realm
  readonly subject: Subject
  readonly proofs: readonly Proof[]
  /** A step that the user must take before a session can begin. */
  readonly nextStep?: 'ChangePassword'
}

/** A login as a method sees it, before the proof. */
export interface Attempt<Given extends Credential> {
  /** As the request names it. */
  readonly realmId: string
  /** undefined = there is no such realm. */
  readonly realm: Realm | undefined
  readonly credential: Given
}

/** How a method proves who somebody is, by the credential of a login request. */
export interface FirstProof<Services, Given extends Credential = Credential> {
  /** The kind of credential that this method takes. Each kind belongs to one method. */
  readonly takes: Given['kind']
  /**
   * The name that a credential claims, where it can be guessed: attempts are throttled by that name. Without this, the
   * name is known from the proof only.
   */
  readonly nameOf?: (credential: Given) => string
  /** @throws LoginRefused */
  readonly prove: (context: OperationContext<Services>, attempt: Attempt<Given>) => Promise<Proven>
}

/** The proof of one kind of credential as the table holds it. The login asks it for that kind only. */
export function firstProof<Services, Kind extends Credential['kind']>(
  proof: FirstProof<Services, CredentialOf<Kind>> & { readonly takes: Kind },
): FirstProof<Services> {
  return proof as unknown as FirstProof<Services>
}

/** Services used by a second proof. */
export interface SecondProofServices {
  readonly db: Database
  readonly seal: Seal
  /** Unix seconds. */
  now(): number
}

/** A code that a user has to give besides the first proof. */
export interface SecondProof {
  /** The answer to a login without a code. */
  readonly nextStep: 'TotpRequired'
  /** Checks a code of this user; undefined for users who need none. The check throws LoginRefused. */
  asks(
    services: SecondProofServices,
    realm: string,
    username: string,
  ): Promise<((code: string) => Promise<Proof>) | undefined>
  refused(): LoginRefused
  /** Goes with the user. */
  removal(realm: string, username: string): Change
}

/** Facts about a method for the rest of the service and for other methods. */
export interface MethodFacts {
  readonly name: string
  /** The scheme of the sessions that it begins. */
  readonly scheme?: AuthScheme
  /** Its member of a realm's `auth_params`. */
  readonly settings: RealmMember
  readonly second?: SecondProof
  /** Whether its member of `auth_params` names what vouches for users: identity providers, names in certificates. */
  readonly vouches?: boolean
  /**
   * A guard for commits that add something to a user: it holds while the method may know the user. undefined: it knows
   * no such user.
   * @throws failure('bad_request') for a name that no user of the method can have
   */
  user?(db: Database, realm: Realm, username: string): Promise<Change | undefined>
  /** Sessions and logins that end when `after` replaces `before`. */
  endings?(services: EndingServices, before: Realm, after: Realm): RealmEndings
  /** Whether the name of a session of this method can only mean one user; without this, it always does. */
  nameIsCertain?(db: Database, session: Session): Promise<boolean>
}

/** A method of login: one row of the table `methods/index.ts`. */
export interface LoginMethod<Services> extends MethodFacts {
  readonly first?: FirstProof<Services>
  /**
   * Looks at `after` before it takes the place of `before`.
   * @throws failure('conflict') where something that names users of the method would come to name others
   */
  checkChange?(services: Services, before: Realm, after: Realm): Promise<void>
  /** Whether users of this method can log in to the realm as it is configured. */
  opens?(services: Services, realm: Realm): boolean
  /** Its endpoints besides `/login`. @param methods the whole table */
  operations(methods: readonly MethodFacts[]): readonly Operation<Services>[]
}
