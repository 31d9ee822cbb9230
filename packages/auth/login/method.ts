import type { Operation, OperationContext } from '@warder/server'
import type { Change, Database, Seal } from '@warder/storage'
import type { Subject } from '../identity/claims.ts'
import type { AuthScheme } from '../identity/scheme.ts'
import type { RealmMember } from '../realms/method-settings.ts'
import type { Realm } from '../realms/realm.ts'
import type { EndingServices, RealmEndings } from '../realms/realm-store.ts'
import type { Session } from '../sessions/session.ts'
import type { Credential, CredentialOf } from './authorization.ts'
import type { LoginRefused } from './refusal.ts'

/** A condition that was proven before a commit and must still hold in it. `lost` is the refusal if it does not. */
export interface Proof {
  readonly holds: Change
  lost(): LoginRefused
}

/** A user whose first proof is valid. */
export interface Proven {
  readonly realm: Realm
  readonly subject: Subject
  readonly proofs: readonly Proof[]
  /** A step that the user must complete before a session is created. */
  readonly nextStep?: 'ChangePassword'
}

/** A login as a method sees it, before the proof. */
export interface Attempt<Given extends Credential> {
  /** The realm id of the request. */
  readonly realmId: string
  /** undefined = there is no such realm. */
  readonly realm: Realm | undefined
  readonly credential: Given
}

/** Proves the identity of a user by the credential of a login request. */
export interface FirstProof<Services, Given extends Credential = Credential> {
  /** The kind of credential that this method accepts. Each kind belongs to one method. */
  readonly takes: Given['kind']
  /**
   * The user name of a credential that can be guessed: attempts are throttled by this name. Methods without it learn
   * the name only from the proof.
   */
  readonly nameOf?: (credential: Given) => string
  /** @throws LoginRefused */
  readonly prove: (context: OperationContext<Services>, attempt: Attempt<Given>) => Promise<Proven>
}

/** A proof as the table of methods stores it. The login only calls it with credentials of its kind. */
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

/** A second factor: a code that a user enters besides the first proof. */
export interface SecondProof {
  /** The answer to a login without a code. */
  readonly nextStep: 'TotpRequired'
  /** Checks a code of this user; undefined for users without a second factor. The check throws LoginRefused. */
  asks(
    services: SecondProofServices,
    realm: string,
    username: string,
  ): Promise<((code: string) => Promise<Proof>) | undefined>
  refused(): LoginRefused
  /** Removes the second factor together with the user. */
  removal(realm: string, username: string): Change
}

/** Properties of a method for the rest of the service and for other methods. */
export interface MethodFacts {
  readonly name: string
  /** The scheme of the sessions that it begins. */
  readonly scheme?: AuthScheme
  /** Its member of a realm's `auth_params`. */
  readonly settings: RealmMember
  readonly second?: SecondProof
  /**
   * Whether its member of `auth_params` determines who vouches for users: identity providers or names in
   * certificates.
   */
  readonly vouches?: boolean
  /**
   * A guard for commits that add something to a user: it holds while the method may know the user; undefined when the
   * method knows no such user.
   * @throws failure('bad_request') for a name that no user of the method can have
   */
  user?(db: Database, realm: Realm, username: string): Promise<Change | undefined>
  /** Sessions and logins that end when `after` replaces `before`. */
  endings?(services: EndingServices, before: Realm, after: Realm): RealmEndings
  /**
   * Whether the user name of a session of this method can only mean one user. Methods without this member have unique
   * names.
   */
  nameIsCertain?(db: Database, session: Session): Promise<boolean>
}

/** A method of login: one row of the table `methods/index.ts`. */
export interface LoginMethod<Services> extends MethodFacts {
  readonly first?: FirstProof<Services>
  /**
   * Validates `after` before it replaces `before`.
   * @throws failure('conflict') when a name of a user of the method would mean another user
   */
  checkChange?(services: Services, before: Realm, after: Realm): Promise<void>
  /** Whether users of this method can log in to the realm as it is configured. */
  opens?(services: Services, realm: Realm): boolean
  /** Endpoints of the method besides `/login`. @param methods the whole table */
  operations(methods: readonly MethodFacts[]): readonly Operation<Services>[]
}
