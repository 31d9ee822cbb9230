import { type Failure, failure, type Logger, type Metrics } from '@warder/base'
import type { Notices } from '@warder/runtime'
import type { IncomingRequest, Operation, OperationContext, TokenBuckets } from '@warder/server'
import type { Change, Database, Seal } from '@warder/storage'
import type { TSchema } from 'typebox'
import type { AuthScheme, Subject } from '../claims.ts'
import type { Realm, RealmMember } from '../realms/realm.ts'
import type { EndingServices, RealmEndings } from '../realms/realm-store.ts'
import type { Session } from '../sessions/session.ts'
import type { SessionManager } from '../sessions/session-manager.ts'
import type { Attempts, FailureCounter } from '../throttle.ts'
import { hashRecoveryCode, recoveryCodeUse } from './recovery-code-store.ts'

/** The credential of a login request. */
export type Credential =
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'bearer'; readonly token: string }
  /** No `Authorization` header: the client certificate of the connection is used, if there is one. */
  | { readonly kind: 'certificate' }
  | { readonly kind: 'malformed' }
type CredentialOf<Kind extends Credential['kind']> = Extract<Credential, { readonly kind: Kind }>

const malformed: Credential = { kind: 'malformed' }
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Reads the `Authorization` header (RFC 9110 §11.4). A value that is not exactly one well-formed credential of a
 * known scheme is malformed. It never falls back to another login method.
 */
export function readCredential(request: IncomingRequest): Credential {
  const header = request.headers.authorization
  if (header === undefined) return { kind: 'certificate' }
  const [scheme = '', credential = '', ...rest] = header.trim().split(/[ \t]+/)
  if (credential === '' || rest.length > 0) return malformed
  if (scheme.toLowerCase() === 'basic') return readBasic(credential)
  if (scheme.toLowerCase() === 'bearer') return { kind: 'bearer', token: credential }
  return malformed
}

/** RFC 7617 §2: base64 of UTF-8 `username:password`; the first colon ends the name. */
function readBasic(credential: string): Credential {
  if (!base64.test(credential)) return malformed
  const bytes = Buffer.from(credential, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== credential.replace(/=+$/, '')) return malformed
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return malformed
  }
  const colon = text.indexOf(':')
  if (colon < 1) return malformed
  return { kind: 'basic', username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** The secret that was tested: the result of an attempt shows an attacker whether it is right. */
type Guess = 'password' | 'code'

/**
 * A refused login. Every caller gets the same answer, `refusal`; the reason is for the audit log. Without a guess the
 * attempt disclosed nothing to the caller and does not count for the throttle.
 */
export class LoginRefused extends Error {
  /** In the style of `wrong_password`. */
  readonly reason: string
  readonly guess: Guess | undefined

  constructor(reason: string, guess?: Guess) {
    super(reason)
    this.name = 'LoginRefused'
    this.reason = reason
    this.guess = guess
  }
}

/** Refusals of every method. */
export const unknownRealm = () => new LoginRefused('unknown_realm', 'password')
export const methodNotEnabled = () => new LoginRefused('method_not_enabled', 'password')
/** A proof no longer held when the session was committed. */
export const credentialChanged = () => new LoginRefused('credential_changed')
/** The failure if the guard of a user fails in a commit. */
export const userChanged = () => failure('conflict', 'The user was changed concurrently; try again.')

/**
 * The single answer to every failed login.
 * @param fromPage the request came from a web page: a browser would show its own dialog for the challenge `Basic` and
 *   keep the page waiting (Fetch §4.6)
 */
export function refusal(fromPage: boolean): Failure {
  const challenge = { 'WWW-Authenticate': 'Basic realm="login", charset="UTF-8"' }
  return failure('unauthorized', 'The credentials are missing or not valid.', {
    headers: fromPage ? {} : challenge,
  })
}

/** A condition that was proven before a commit and must still be met in it. */
export interface Proof {
  readonly guard: Change
  /** Creates the refusal of a login whose guard fails. */
  createRefusal(): LoginRefused
}

/** A user whose first proof is valid. */
export interface Proven {
  readonly realm: Realm
  readonly subject: Subject
  readonly proofs: readonly Proof[]
  /** A step that the user must complete before a session is created. */
  readonly nextStep?: 'ChangePassword'
}

/** A login before the proof, for a method. */
interface Attempt<Given extends Credential> {
  /** The realm id of the request. */
  readonly realmId: string
  /** undefined = there is no such realm. */
  readonly realm: Realm | undefined
  readonly credential: Given
}

/** Proves the identity of a user by the credential of a login request. */
interface FirstProof<Services, Given extends Credential = Credential> {
  /** The kind of credential that this method accepts. Each kind belongs to one method. */
  readonly takes: Given['kind']
  /**
   * The user name of a credential that can be guessed: attempts are throttled by this name. Methods without it learn
   * the name only from the proof.
   */
  readonly getUsername?: (credential: Given) => string
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

/** Second factors in a request, by `SecondProof.member`. */
export type SecondAnswers = Readonly<Record<string, unknown>>

/** The check of one user's second factor. */
export interface SecondCheck {
  /** @throws LoginRefused */
  check(answer: unknown): Promise<readonly Proof[]>
  /** Values that a client needs to answer: a member of the reply, and `Set-Cookie`. */
  readonly ask?: () => { readonly reply: Readonly<Record<string, unknown>>; readonly cookie: string }
}

/** A second factor, which a login requires in addition to the first proof. */
export interface SecondProof {
  readonly name: 'totp' | 'passkey'
  /** The member of the body that contains the answer, and its schema. */
  readonly member: string
  readonly schema: TSchema
  /** Whether an answer of a user without this factor is refused instead of ignored. */
  readonly isOnlyForEnrolled?: true
  /** The factor of this user; undefined for users without it. */
  find(
    context: OperationContext<SecondProofServices>,
    realm: string,
    username: string,
  ): Promise<SecondCheck | undefined>
  /** Creates the refusal of a login without the required answer, or with one of a user without this factor. */
  createRefusal(): LoginRefused
  /** Removes the second factor together with the user. */
  removal(realm: string, username: string): readonly Change[]
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
   * A guard for commits that add something to a user: it is met while the method may know the user; undefined when the
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

/** The factors of which the user must use one, or the proofs of the factor that was used. */
type SecondResult =
  | { readonly missing: readonly (SecondProof & SecondCheck)[] }
  | { readonly missing: undefined; readonly proofs: readonly Proof[] }

/**
 * Checks the answer of a user with second factors; one of them is required. A recovery code replaces each of
 * them; any other code of a user without TOTP is ignored.
 * @throws LoginRefused for a wrong answer
 */
export async function proveSecond(
  methods: readonly MethodFacts[],
  context: OperationContext<SecondProofServices>,
  user: { readonly realm: string; readonly username: string },
  answers: SecondAnswers,
): Promise<SecondResult> {
  const enrolled: (SecondProof & SecondCheck)[] = []
  const recoveryCode = typeof answers.totp_code === 'string' ? hashRecoveryCode(answers.totp_code) : undefined
  for (const { second } of methods) {
    if (second === undefined) continue
    const factor = await second.find(context, user.realm, user.username)
    const answer = answers[second.member]
    if (factor === undefined) {
      if (second.isOnlyForEnrolled === true && answer !== undefined) throw second.createRefusal()
      continue
    }
    if (answer !== undefined && (recoveryCode === undefined || second.member !== 'totp_code'))
      return { missing: undefined, proofs: await factor.check(answer) }
    enrolled.push({ ...second, ...factor })
  }
  if (recoveryCode !== undefined && enrolled.length > 0) {
    context.audit({ details: { second_factor: 'recovery_code' } })
    const guard = recoveryCodeUse(recoveryCode, user.realm, user.username)
    return { missing: undefined, proofs: [{ guard, createRefusal: wrongRecoveryCode }] }
  }
  return enrolled.length > 0 ? { missing: enrolled } : { missing: undefined, proofs: [] }
}

const wrongRecoveryCode = () => new LoginRefused('wrong_recovery_code', 'code')

/** The members of a body that may contain answers. */
export function secondMembers(methods: readonly MethodFacts[]): Readonly<Record<string, TSchema>> {
  return Object.fromEntries(methods.flatMap(({ second }) => (second ? [[second.member, second.schema]] : [])))
}

/** Reads the answers of a body; null is no answer. */
export function readAnswers(methods: readonly MethodFacts[], body: unknown): SecondAnswers {
  const given = (body ?? {}) as Readonly<Record<string, unknown>>
  const members = methods.flatMap(({ second }) => second?.member ?? [])
  return Object.fromEntries(
    members.filter((name) => (given[name] ?? null) !== null).map((name) => [name, given[name]]),
  )
}

/** Services that limit logins by address. */
export interface LoginLimitServices {
  /** Logins of every kind, by address. */
  readonly loginBuckets: TokenBuckets
}

/** Services used by a login, whatever its method. */
export interface LoginServices extends SecondProofServices, LoginLimitServices {
  readonly metrics: Metrics
  readonly log: Logger
  /** undefined = the settings name no receiver. */
  readonly notices: Pick<Notices, 'tell' | 'announces'> | undefined
  readonly sessions: SessionManager
  readonly failures: FailureCounter
  readonly attempts: Attempts
  /** Attempts with a code. They have their own counters, always entered after those of `attempts`. */
  readonly codeAttempts: Attempts
}
