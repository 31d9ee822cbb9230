import { failure } from '@warder/base'
import type { Principal } from '@warder/server'
import { type Change, change, type Database, query } from '@warder/storage'
import { personalMethods } from './settings.ts'

/**
 * When an administrator of the authentication service last set a credential of a crypto officer, as its revocation feed
 * reports. Such a credential may vote and take part in ceremonies only after `approvals.credential_wait`, which gives
 * the other officers time to notice. Credentials that were set before the settings first named crypto officers belong
 * to the set-up and do not wait; the time of that first naming never changes.
 */

/** Row with the time at which the settings first named crypto officers. No user has this name (`isName`). */
const firstNaming = '.'

interface SetRow {
  readonly user_id: string
  /** Unix milliseconds. */
  readonly set_at: number
}

const all = query<[], SetRow>('SELECT user_id, set_at FROM officer_credential')
const record = query<[user: string, at: number], unknown>(
  `INSERT INTO officer_credential (user_id, set_at) VALUES (?, ?)
     ON CONFLICT (user_id) DO UPDATE SET set_at = excluded.set_at WHERE officer_credential.set_at < excluded.set_at`,
)

const recordNaming = query<[id: string, at: number], unknown>(
  'INSERT INTO officer_credential (user_id, set_at) VALUES (?, ?) ON CONFLICT DO NOTHING',
)

/**
 * Keeps the first time at which the settings name crypto officers. The feed has whole seconds: a credential of the same
 * second waits.
 * @param at Unix milliseconds; 0: it is not known, as of older versions, and every credential waits
 */
export function officersNamedChange(at: number): Change {
  return change(recordNaming, [firstNaming, Math.floor(at / 1000) * 1000])
}

/** Keeps the latest time: an entry of the feed that is read again changes no row. @param at Unix milliseconds */
export function credentialSetChange(user: string, at: number): Change {
  return change(record, [user, at])
}

/** When a credential of each officer was last set, Unix milliseconds. */
export async function readSetCredentials(db: Database): Promise<ReadonlyMap<string, number>> {
  const { times } = await readTimes(db)
  return times
}

/** The same for credentials that wait: those of the set-up are left out. */
export async function readWaitingCredentials(db: Database): Promise<ReadonlyMap<string, number>> {
  const { times, namedAt } = await readTimes(db)
  return new Map([...times].filter(([, setAt]) => setAt >= namedAt))
}

async function readTimes(db: Database) {
  const times = new Map((await db.all(all, [])).map(({ user_id, set_at }) => [user_id, Number(set_at)]))
  const namedAt = times.get(firstNaming) ?? 0
  times.delete(firstNaming)
  return { times, namedAt }
}

/**
 * Whether a credential waits at a time.
 * @param method undefined: unknown, as of votes of older versions
 * @param setAt when a credential of the user that waits was set; undefined: never
 * @param at Unix milliseconds
 */
export function isWaiting(
  { credentialWaitMs }: { readonly credentialWaitMs: number },
  method: string | undefined,
  setAt: number | undefined,
  at: number,
): boolean {
  if (setAt === undefined || (method !== undefined && personalMethods.includes(method))) return false
  return at < setAt + credentialWaitMs
}

/** @throws failure('forbidden') for a credential that waits */
export async function requireCredentialWaited(
  db: Database,
  approvals: { readonly credentialWaitMs: number },
  { name, method }: Pick<Principal, 'name' | 'method'>,
  now: number,
): Promise<void> {
  const setAt = (await readWaitingCredentials(db)).get(name)
  if (setAt === undefined || !isWaiting(approvals, method, setAt, now)) return
  const from = new Date(setAt + approvals.credentialWaitMs).toISOString()
  throw failure(
    'forbidden',
    `approvals.credential_wait: an administrator set a credential of ${name} at ${new Date(setAt).toISOString()}, after crypto officers were named; it is valid for decisions of crypto officers from ${from} on, so that the other officers can notice.`,
  )
}
