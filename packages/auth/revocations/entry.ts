/**
 * Kinds of entries of the revocation feed.
 * - `session`: `subject` is the session id; kept until its token expires.
 * - `logins`: all remembered logins of a user; `username` and `realm`.
 * - `realm`: all remembered logins of `realm`.
 * - `person`: a user was removed; `subject` is the subject id, empty when the user never logged in.
 * - `machine`: tokens of the entity `subject`.
 * - `credential`: an administrator has set or removed a credential of a user; `username` and `realm`. Another person
 *   may vote on approvals under this name from then on.
 * - `credentials`: an administrator has changed an identity provider or the certificates of `realm`, which may affect
 *   every user of it.
 * - `role`: the role of the entity `subject` was deleted together with its tokens.
 */
export type RevocationKind =
  | 'session'
  | 'logins'
  | 'realm'
  | 'person'
  | 'machine'
  | 'role'
  | 'credential'
  | 'credentials'

/** Reasons of a revocation, for users and logs. */
export type RevocationReason =
  | 'logged_out'
  | 'password_changed'
  | 'deleted'
  | 'released'
  | 'reassigned'
  | 'provider_removed'
  | 'realm_ended'
  | 'realm_deleted'
  | 'revoked'
  | 'role_deleted'
  | 'credential_set'

/** An entry of the feed. Times are Unix seconds. */
export interface RevocationEntry {
  readonly seq: number
  readonly kind: RevocationKind
  readonly subject: string
  readonly realm: string
  readonly username: string
  readonly endedAt: number
  /** Expiry that the revoked item would have had anyway. The entry may be deleted some time after it. */
  readonly untilAt: number
  readonly reason: string
}

/** Sessions of the kms's web page last 24 hours (kms specification §8). */
export const loginRetentionSeconds = 86_400
/** Subscribers cache the validity of machine tokens for at most 300 s. */
export const machineRetentionSeconds = 3600
/** Requests for approval and votes on them are valid for at most a year. */
export const voteRetentionSeconds = 400 * 86_400
/** Client certificates may be valid for years. */
export const personRetentionSeconds = 10 * 365 * 86_400
