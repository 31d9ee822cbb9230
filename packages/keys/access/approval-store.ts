import { type Change, change, type Database, query, type Seal, type SealContext } from '@warder/storage'
import type { ApprovalSettings, Askable, OfficerSettings } from './settings.ts'

/** `approved`: an export that the requester may do once. `void`: its object changed meanwhile. */
export type RequestState = 'open' | 'approved' | 'done' | 'refused' | 'withdrawn' | 'void'

/** The officers who approve, and the operations that need it: settings `[roles]` and `[approvals]`, without notices. */
export interface Governance {
  readonly officers: Omit<OfficerSettings, 'quorum'> & { readonly quorum: number | null }
  readonly approvals: ApprovalSettings
}

/** Key store of AWS that an access key is for. */
export interface CredentialScope {
  /** Path before `/kms/xks/v1`. */
  readonly uriPrefix: string
  readonly region: string
}

/** The exact content of a request: officers approve its hash. */
export interface Wish {
  readonly id: string
  readonly operation: Askable
  /** Id of a key, name of an external key store or of an officer, digest of settings, `root_key`, or SHA-256 of the file of a backup. */
  readonly object: string
  /** Version of the object: a changed object needs another approval. 0 for objects without a version. */
  readonly version: number
  /** Of a grant. */
  readonly user?: string
  readonly rights?: readonly string[]
  /** The settings, for a change of settings; the digest in `object` binds them. */
  readonly settings?: Governance
  /** Of a restored backup: when it was made, and restored. Unix milliseconds. */
  readonly restore?: { readonly madeAt: number; readonly restoredAt: number }
  /** Of an access key for AWS KMS: the store that it signs for. */
  readonly credential?: CredentialScope
  /** Of an export: the key that has to wrap the material. Absent: it may leave in any form. */
  readonly wrappedBy?: string
  /** Why, in the words of the requester. */
  readonly reason?: string
  readonly requester: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly until: number
}

export interface ApprovalRequest {
  readonly wish: Wish
  readonly state: RequestState
  /** Of the row: raised by each change. */
  readonly version: number
}

export interface Vote {
  readonly user: string
  readonly approves: boolean
  /** Hash of the wish. */
  readonly hash: string
  readonly at: number
  /** Of a refusal, in the words of the officer. */
  readonly reason?: string
  /** Method of the credential that it was cast with; of votes that an older version took it is not known. */
  readonly method?: string
}

interface RequestRow {
  readonly id: string
  readonly record: Uint8Array
  readonly version: number
}

const byId = query<[id: string], RequestRow>('SELECT id, record, version FROM approval_request WHERE id = ?')
const page = query<[after: string, limit: number], RequestRow>(
  'SELECT id, record, version FROM approval_request WHERE id > ? ORDER BY id LIMIT ?',
)
const ofRequester = query<[requester: string, after: string, limit: number], RequestRow>(
  'SELECT id, record, version FROM approval_request WHERE requester = ? AND id > ? ORDER BY id LIMIT ?',
)
const usable = query<[object: string, operation: string, now: number], RequestRow>(
  `SELECT id, record, version FROM approval_request
   WHERE object_id = ? AND operation = ? AND state = 'approved' AND until_ms > ? ORDER BY id`,
)
const counted = query<[requester: string, now: number], { readonly n: number }>(
  `SELECT COUNT(*) AS n FROM approval_request WHERE requester = ? AND state IN ('open', 'approved') AND until_ms > ?`,
)
const insert = query<
  [string, string, string, string, string, record: Uint8Array, createdAt: number, until: number],
  unknown
>(
  `INSERT INTO approval_request (id, requester, object_id, operation, state, record, created_at, until_ms, version)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)`,
)
const move = query<[state: string, record: Uint8Array, id: string, version: number], unknown>(
  'UPDATE approval_request SET state = ?, record = ?, version = version + 1 WHERE id = ? AND version = ?',
)
const votes = query<[id: string], { readonly user_id: string; readonly record: Uint8Array }>(
  'SELECT user_id, record FROM approval_vote WHERE request_id = ? ORDER BY at_ms, user_id',
)
const insertVote = query<[id: string, user: string, record: Uint8Array, at: number], unknown>(
  'INSERT INTO approval_vote (request_id, user_id, record, at_ms) VALUES (?, ?, ?, ?)',
)
const sweepVotes = query<[before: number], unknown>(
  'DELETE FROM approval_vote WHERE request_id IN (SELECT id FROM approval_request WHERE until_ms < ?)',
)
const sweep = query<[before: number], unknown>('DELETE FROM approval_request WHERE until_ms < ?')

/** Opens sealed records. */
type Opener = Pick<Seal, 'open'>

const requestSealContext = (id: string): SealContext => ({
  table: 'approval_request',
  row: id,
  column: 'record',
})
const voteSealContext = (id: string, user: string): SealContext => ({
  table: 'approval_vote',
  row: JSON.stringify([id, user]),
  column: 'record',
})

function sealRecord(seal: Seal, place: SealContext, value: object): Uint8Array {
  return seal.seal(place, Buffer.from(JSON.stringify(value)))
}

async function openRecord<T>(seal: Opener, place: SealContext, record: Uint8Array): Promise<T> {
  return JSON.parse(Buffer.from(await seal.open(place, record)).toString('utf8')) as T
}

async function openRequest(seal: Opener, row: RequestRow): Promise<ApprovalRequest> {
  const { wish, state } = await openRecord<Omit<ApprovalRequest, 'version'>>(
    seal,
    requestSealContext(row.id),
    row.record,
  )
  return { wish, state, version: row.version }
}

export async function findRequest(
  db: Database,
  seal: Seal,
  id: string,
): Promise<ApprovalRequest | undefined> {
  const row = await db.get(byId, [id])
  return row === undefined ? undefined : openRequest(seal, row)
}

/** Requests in the order in which they were made. @param requester undefined = of all users */
export async function listRequests(
  db: Database,
  seal: Seal,
  {
    requester,
    after,
    limit,
  }: { readonly requester: string | undefined; readonly after: string; readonly limit: number },
): Promise<readonly ApprovalRequest[]> {
  const rows =
    requester === undefined
      ? await db.all(page, [after, limit])
      : await db.all(ofRequester, [requester, after, limit])
  return Promise.all(rows.map((row) => openRequest(seal, row)))
}

/**
 * Approved requests that may be executed once now: by the requester or, for requests about the installation, by the
 * operator who starts it or has its files.
 */
export async function listApprovedRequests(
  db: Database,
  seal: Opener,
  about: Pick<Wish, 'object' | 'operation'>,
  now: number,
): Promise<readonly ApprovalRequest[]> {
  const rows = await db.all(usable, [about.object, about.operation, now])
  const requests = await Promise.all(rows.map((row) => openRequest(seal, row)))
  return requests.filter(({ state }) => state === 'approved')
}

/** Counts the unfinished requests of a user. */
export async function runningRequests(db: Database, requester: string, now: number): Promise<number> {
  return Number((await db.get(counted, [requester, now]))?.n ?? 0)
}

export function requestChange(seal: Seal, wish: Wish): Change {
  const { id, requester, object, operation, createdAt, until } = wish
  const record = sealRecord(seal, requestSealContext(id), { wish, state: 'open' })
  return change(insert, [id, requester, object, operation, 'open', record, createdAt, until])
}

/** Guarded by the version that was read: a transaction that loses the race reads again. */
export function stateChange(seal: Seal, { wish, version }: ApprovalRequest, state: RequestState): Change {
  const record = sealRecord(seal, requestSealContext(wish.id), { wish, state })
  return change(move, [state, record, wish.id, version], 1)
}

export async function votesOn(db: Database, seal: Opener, id: string): Promise<readonly Vote[]> {
  const rows = await db.all(votes, [id])
  return Promise.all(
    rows.map(({ user_id: user, record }) => openRecord<Vote>(seal, voteSealContext(id, user), record)),
  )
}

/** One vote of each officer: a second one is a UniqueViolation. */
export function voteChange(seal: Seal, id: string, vote: Vote): Change {
  return change(insertVote, [id, vote.user, sealRecord(seal, voteSealContext(id, vote.user), vote), vote.at])
}

/** Forgets requests that ended before this moment. */
export function sweepRequests(before: number): Change[] {
  return [change(sweepVotes, [before]), change(sweep, [before])]
}
