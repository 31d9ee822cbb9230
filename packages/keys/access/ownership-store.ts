import { type Change, change, type Database, query } from '@warder/storage'
import { markObjectForWrapping } from '../hsm/wrapping-store.ts'
import { objectTopic } from '../objects/object-store.ts'
import { credentialSetChange } from './credential-wait-store.ts'
import { followOwner } from './named-key-store.ts'

interface OwnedRow {
  readonly id: string
  readonly version: number
}

const owned = query<[owner: string, most: number], OwnedRow>(
  'SELECT id, version FROM managed_object WHERE owner = ? ORDER BY id LIMIT ?',
)
const move = query<[owner: string, now: number, id: string, version: number], unknown>(
  'UPDATE managed_object SET owner = ?, changed_at = ?, version = version + 1 WHERE id = ? AND version = ?',
)
const counts = query<[owner: string, user: string], { readonly owned: number; readonly granted: number }>(
  `SELECT (SELECT COUNT(*) FROM managed_object WHERE owner = ?) AS owned,
     (SELECT COUNT(DISTINCT object_id) FROM object_grant WHERE user_id = ?) AS granted`,
)
const ofMaterial = query<[user: string, after: string, most: number], { readonly object_id: string }>(
  `SELECT DISTINCT object_id FROM object_grant
     WHERE user_id = ? AND object_id > ? AND operation IN ('get', 'export') ORDER BY object_id LIMIT ?`,
)
const copyGrants = query<[to: string, from: string, to: string], unknown>(
  `INSERT INTO object_grant (object_id, user_id, operation)
     SELECT g.object_id, ?, g.operation FROM object_grant g WHERE g.user_id = ? AND NOT EXISTS
       (SELECT 1 FROM managed_object o WHERE o.id = g.object_id AND o.owner = ?)
     ON CONFLICT DO NOTHING`,
)
const deleteGrants = query<[user: string], unknown>('DELETE FROM object_grant WHERE user_id = ?')
const tagGrantsToKeep = `INSERT INTO object_grant (object_id, user_id, operation)
  SELECT DISTINCT k.object_id, t.user_id, t.operation FROM object_tag k JOIN tag_grant t ON t.tag = k.tag
    WHERE k.object_id = ? AND t.owner = ? AND t.user_id <> ?`
/** Rights by the former owner's tags stay on the key as grants of their own: the new owner's tags mean other keys. */
const keepTagGrants = query<[id: string, owner: string, to: string], unknown>(
  `${tagGrantsToKeep} ON CONFLICT DO NOTHING`,
)
/** Excludes rights whose grant on the key would require approval. */
const keepTagGrantsOfUse = query<[id: string, owner: string, to: string], unknown>(
  `${tagGrantsToKeep} AND t.operation NOT IN ('get', 'export') ON CONFLICT DO NOTHING`,
)
/** State of a KMIP user besides objects: pending responses, multi-part operations, rules for new objects. */
const unfinished = [
  'DELETE FROM kmip_pending WHERE owner = ?',
  'DELETE FROM kmip_stream_part WHERE stream_id IN (SELECT id FROM kmip_stream WHERE owner = ?)',
  'DELETE FROM kmip_stream WHERE owner = ?',
  'DELETE FROM kmip_creation_rule WHERE owner = ?',
].map((text) => query<[owner: string], unknown>(text))

/** Users in rows of ACME: they enabled it for an authority, created a credential, or own the orders of an account. */
const acmeRows = [
  'UPDATE acme_directory SET opened_by = ?, version = version + 1 WHERE opened_by = ?',
  'UPDATE acme_credential SET owner = ? WHERE owner = ?',
  'UPDATE acme_account SET owner = ?, version = version + 1 WHERE owner = ?',
].map((text) => query<[to: string, from: string], unknown>(text))
/** The user who made the secret still knows it, so no other user becomes its creator. */
const endAccessKeys = query<[to: string, from: string], unknown>(
  'UPDATE aws_access_key SET created_by = ?, version = version + 1 WHERE created_by = ?',
)
/** Makes a transaction that counted a deleted vote fail and read again. */
const recount = query<[user: string], unknown>(
  `UPDATE approval_request SET version = version + 1 WHERE state IN ('open', 'approved')
     AND id IN (SELECT request_id FROM approval_vote WHERE user_id = ?)`,
)
const forgetVotes = query<[user: string], unknown>(
  `DELETE FROM approval_vote WHERE user_id = ?
     AND request_id IN (SELECT id FROM approval_request WHERE state IN ('open', 'approved'))`,
)
const forgetRequests = query<[requester: string], unknown>(
  "DELETE FROM approval_request WHERE requester = ? AND state IN ('open', 'approved')",
)

const recountBefore = query<[user: string, before: number], unknown>(
  `UPDATE approval_request SET version = version + 1 WHERE state IN ('open', 'approved')
     AND id IN (SELECT request_id FROM approval_vote WHERE user_id = ? AND at_ms <= ?)`,
)
const forgetVotesBefore = query<[user: string, before: number], unknown>(
  `DELETE FROM approval_vote WHERE user_id = ? AND at_ms <= ?
     AND request_id IN (SELECT id FROM approval_request WHERE state IN ('open', 'approved'))`,
)
const forgetRequestsBefore = query<[requester: string, before: number], unknown>(
  "DELETE FROM approval_request WHERE requester = ? AND created_at <= ? AND state IN ('open', 'approved')",
)
const endActivationsBefore = query<[now: number, by: string, user: string, before: number], unknown>(
  `UPDATE officer_activation SET ended_at = ?, ended_by = ?
     WHERE user_id = ? AND activated_at <= ? AND ended_at IS NULL`,
)

const voting = query<[], { readonly name: string }>(
  `SELECT v.user_id AS name FROM approval_vote v JOIN approval_request r ON r.id = v.request_id
     WHERE r.state IN ('open', 'approved')
   UNION SELECT requester AS name FROM approval_request WHERE state IN ('open', 'approved')
   UNION SELECT user_id AS name FROM officer_activation WHERE ended_at IS NULL`,
)

/** Users with votes, requests or activations that `voidVotes` would end. */
export async function namesThatVote(db: Database): Promise<ReadonlySet<string>> {
  return new Set((await db.all(voting, [])).map(({ name }) => name))
}

/** Max difference of the clocks of the two services: votes up to this time after the change are ended, too. */
const clockLeewayMs = 60_000

/** Value of `ended_by` if an activation ended because a credential was set. No user has this name. */
const credentialWasSet = '(credential set)'

/** How many of each ended. */
interface EndedVotes {
  readonly votes: number
  readonly requests: number
  readonly activations: number
}

/**
 * Ends votes, requests for approval and activations of a user from before an administrator set a credential of that
 * user: an administrator who sets the passwords of requester and officers could otherwise reach the quorum alone.
 * Repeating the same change has no effect.
 * @param at when the credential was set, Unix milliseconds
 * @returns what ended; `isNew`: of an officer, and this time was not known yet
 */
export async function voidVotes(
  db: Database,
  user: string,
  { at, isOfficer }: { readonly at: number; readonly isOfficer: boolean },
  now: number,
): Promise<{ readonly ended: EndedVotes; readonly isNew: boolean }> {
  const before = at + clockLeewayMs
  const results = await db.commit([
    change(recountBefore, [user, before]),
    change(forgetVotesBefore, [user, before]),
    change(forgetRequestsBefore, [user, before]),
    change(endActivationsBefore, [now, credentialWasSet, user, before]),
    ...(isOfficer ? [credentialSetChange(user, at)] : []),
  ])
  const [, votes = 0, requests = 0, activations = 0, recorded = 0] = results.map(({ changes }) => changes)
  return { ended: { votes, requests, activations }, isNew: recorded > 0 }
}

/** Some objects of an owner, at most `most`. */
export async function someOwned(db: Database, owner: string, most: number): Promise<readonly OwnedRow[]> {
  return await db.all(owned, [owner, most])
}

export async function ownsAnything(db: Database, owner: string): Promise<boolean> {
  return (await someOwned(db, owner, 1)).length > 0
}

/** Ids of objects whose material a user was granted, in their order. */
export async function materialGrantedTo(
  db: Database,
  user: string,
  after: string,
  most: number,
): Promise<readonly string[]> {
  return (await db.all(ofMaterial, [user, after, most])).map(({ object_id }) => object_id)
}

/** Transfers an object to another owner, if it was not changed since it was read. */
export function ownerChanges(
  db: Database,
  { id, version }: OwnedRow,
  {
    from,
    to,
    approvesGrants,
  }: { readonly from: string; readonly to: string; readonly approvesGrants: boolean },
  now: number,
): Change[] {
  return [
    change(move, [to, now, id, version], 1),
    change(approvesGrants ? keepTagGrantsOfUse : keepTagGrants, [id, from, to]),
    followOwner(id, to),
    markObjectForWrapping(id),
    db.changed(objectTopic, id),
  ]
}

interface Holdings {
  /** Objects that the user owns. */
  readonly owned: number
  /** Objects on which something was granted to the user. */
  readonly granted: number
}

export async function countHoldings(db: Database, user: string): Promise<Holdings> {
  const { owned: objects, granted } = (await db.get(counts, [user, user])) ?? { owned: 0, granted: 0 }
  return { owned: objects, granted }
}

/** Deletes every grant to a user; the last change returns the number of rows. */
export function grantsEnd(user: string): readonly Change[] {
  return [change(deleteGrants, [user])]
}

/** The same, once another user has them; not on objects that are their own. */
export function grantsTransfer(from: string, to: string): readonly Change[] {
  return [change(copyGrants, [to, from, to]), change(deleteGrants, [from])]
}

/** Removes rows that are neither transferred nor kept. */
export function endUnfinished(user: string): readonly Change[] {
  return unfinished.map((statement) => change(statement, [user]))
}

/** Transfers ACME accounts to another user, or to the name of a deleted owner, which cannot be granted any right. */
export function acmeTransfer(from: string, to: string): readonly Change[] {
  return acmeRows.map((statement) => change(statement, [to, from]))
}

/** Disables the access keys for AWS KMS that a user created: `left` is the name of a deleted owner. */
export function accessKeysEnd(user: string, left: string): Change {
  return change(endAccessKeys, [left, user])
}

/** Ends a user's votes on requests for approval, and the user's own requests, that are still open. */
export function approvalsEnd(user: string): readonly Change[] {
  return [recount, forgetVotes, forgetRequests].map((statement) => change(statement, [user]))
}

// Counts along the index of owners, and never further than the limit.
const ownedUpTo = query<[owner: string, most: number], { readonly count: number }>(
  'SELECT COUNT(*) AS count FROM (SELECT 1 FROM managed_object WHERE owner = ? LIMIT ?) owned',
)

/** Objects that the owner has, `most` at most. */
export async function countOwned(db: Database, owner: string, most: number): Promise<number> {
  return (await db.get(ownedUpTo, [owner, most]))?.count ?? 0
}
