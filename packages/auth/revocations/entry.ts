/**
 * Subject of an entry of the feed.
 * - `session`: `subject` is the session id; until the expiry of its token.
 * - `logins`: logins of a user, wherever they were remembered; `username` and `realm`.
 * - `realm`: logins of every user of `realm`.
 * - `person`: a user is gone; `subject` is the subject id, empty when the user never logged in.
 * - `machine`: tokens of the entity `subject`.
 * - `credential`: an administrator has set or removed a credential of a user; `username` and `realm`. Whoever votes on
 *   approvals under this name from then on may be another person.
 * - `credentials`: an administrator has changed what vouches for every user of `realm`: identity providers, certificates.
 * - `role`: the role behind the entity `subject` is gone, and its tokens with it.
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

/** Why something ended, for people and logs. */
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
  /** Time at which the ended thing would have expired by itself: some time later the entry may be forgotten. */
  readonly untilAt: number
  readonly reason: string
}

/** Sessions of the kms's web page last 24 hours (kms specification §8). */
export const loginRetentionSeconds = 86_400
/** Answers about machine tokens are believed for 300 s at most. */
export const machineRetentionSeconds = 3600
/** Requests for approval, and votes on them, hold for a year at most. */
export const voteRetentionSeconds = 400 * 86_400
/** Client certificates may have been issued for years. */
export const personRetentionSeconds = 10 * 365 * 86_400
