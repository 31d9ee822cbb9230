import { type Change, change, type Database, query, type Seal, type SealContext } from '@warder/storage'

/** A key that was split among the officers. Its facts are sealed: write access to the database activates no officer. */
export interface Ceremony {
  /** The id of the key that was split. */
  readonly id: string
  /** SHA-256 of that key, base64url. */
  readonly digest: string
  /** Required number of distinct officers with shares. */
  readonly threshold: number
  /** Officers at that time; share `i` was given to the one at `i - 1`. */
  readonly officers: readonly string[]
  readonly createdBy: string
  /** Unix milliseconds; of ceremonies that an older version began it is not known. */
  readonly begunAt?: number
  /** Methods of the credentials that could vote then. Empty or absent: all. */
  readonly voteWith?: readonly string[]
}

/** Activation of an officer by a ceremony. */
export interface Activation {
  readonly user: string
  readonly ceremony: string
  /** Owners of the shares. */
  readonly participants: readonly string[]
  /** Unix milliseconds. */
  readonly activatedAt: number
  readonly until: number
}

interface RecordRow {
  readonly record: Uint8Array
}

interface ActivationEnd {
  /** Unix milliseconds. */
  readonly activated_at: number
  /** Unix milliseconds; null = not ended. */
  readonly ended_at: number | null
  readonly ended_by: string | null
}

const ceremonyById = query<[id: string], RecordRow>('SELECT record FROM officer_ceremony WHERE id = ?')
const newestCeremony = query<[], RecordRow & { readonly id: string }>(
  'SELECT id, record FROM officer_ceremony ORDER BY created_at DESC, id DESC LIMIT 1',
)
const insertCeremony = query<[id: string, record: Uint8Array, createdAt: number], unknown>(
  'INSERT INTO officer_ceremony (id, record, created_at) VALUES (?, ?, ?)',
)
const running = query<[user: string, now: number], RecordRow & { readonly ceremony_id: string }>(
  `SELECT ceremony_id, record FROM officer_activation
   WHERE user_id = ? AND ended_at IS NULL AND until_ms > ? ORDER BY until_ms DESC`,
)
const insertActivation = query<
  [ceremony: string, user: string, record: Uint8Array, activatedAt: number, until: number],
  unknown
>(
  `INSERT INTO officer_activation (ceremony_id, user_id, record, activated_at, until_ms) VALUES (?, ?, ?, ?, ?)`,
)
const newestActivation = query<[user: string], ActivationEnd>(
  `SELECT activated_at, ended_at, ended_by FROM officer_activation WHERE user_id = ? ORDER BY activated_at DESC, ceremony_id DESC
   LIMIT 1`,
)
const endActivations = query<[endedAt: number, endedBy: string, user: string], unknown>(
  'UPDATE officer_activation SET ended_at = ?, ended_by = ? WHERE user_id = ? AND ended_at IS NULL',
)

const ceremonySealContext = (id: string): SealContext => ({
  table: 'officer_ceremony',
  row: id,
  column: 'record',
})
const activationSealContext = (ceremony: string, user: string): SealContext => ({
  table: 'officer_activation',
  row: JSON.stringify([ceremony, user]),
  column: 'record',
})

function sealRecord(seal: Seal, place: SealContext, value: object): Uint8Array {
  return seal.seal(place, Buffer.from(JSON.stringify(value)))
}

async function openRecord<T>(seal: Seal, place: SealContext, record: Uint8Array): Promise<T> {
  return JSON.parse(Buffer.from(await seal.open(place, record)).toString('utf8')) as T
}

export function ceremonyChange(seal: Seal, ceremony: Ceremony, now: number): Change {
  return change(insertCeremony, [
    ceremony.id,
    sealRecord(seal, ceremonySealContext(ceremony.id), ceremony),
    now,
  ])
}

/** The ceremony of a key that was split. @throws when its record is not one that this service wrote */
export async function findCeremony(db: Database, seal: Seal, id: string): Promise<Ceremony | undefined> {
  const row = await db.get(ceremonyById, [id])
  return row === undefined ? undefined : openRecord<Ceremony>(seal, ceremonySealContext(id), row.record)
}

/** The ceremony that was begun last. */
export async function latestCeremony(db: Database, seal: Seal): Promise<Ceremony | undefined> {
  const row = await db.get(newestCeremony, [])
  return row === undefined ? undefined : openRecord<Ceremony>(seal, ceremonySealContext(row.id), row.record)
}

/** An officer is activated by one ceremony once: the second insertion is a UniqueViolation, also after its end. */
export function activationChange(seal: Seal, activation: Activation): Change {
  const { ceremony, user, activatedAt, until } = activation
  const record = sealRecord(seal, activationSealContext(ceremony, user), activation)
  return change(insertActivation, [ceremony, user, record, activatedAt, until])
}

/**
 * The current activation of an officer. It is read from the database each time, so that the end of an activation takes
 * effect on the next request. Callers call it only for users whom the settings list.
 */
export async function runningActivation(
  db: Database,
  seal: Seal,
  user: string,
  now: number,
): Promise<Activation | undefined> {
  for (const { ceremony_id: ceremony, record } of await db.all(running, [user, now])) {
    const activation = await openRecord<Activation>(seal, activationSealContext(ceremony, user), record)
    // The columns only serve searches; the sealed record is authoritative.
    if (activation.until > now) return activation
  }
  return undefined
}

/** How the newest activation of a user ended; undefined: there was none. */
export async function lastEnd(db: Database, user: string): Promise<ActivationEnd | undefined> {
  return await db.get(newestActivation, [user])
}

/** Ends the activation of the officer, if there is one. */
export function endActivationsChange(user: string, by: string, now: number): Change {
  return change(endActivations, [now, by, user])
}
