import { failure } from '@warder/foundation/errors'
import type { Principal } from '@warder/foundation/operations'
import { type Change, change, type Database, query } from '@warder/foundation/sql'

/**
 * When an administrator of the authentication service last set a credential of a crypto officer, as its feed of ends says.
 * Such a credential votes, and takes part in ceremonies, only after `approvals.credential_wait`: the time that the other
 * officers have to notice.
 */

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

/** Keeps the latest time: an entry of the feed that is read again changes no row. @param at Unix milliseconds */
export function credentialSetChange(user: string, at: number): Change {
  return change(record, [user, at])
}

/** Times of all officers that are known, Unix milliseconds. */
export async function readSetCredentials(db: Database): Promise<ReadonlyMap<string, number>> {
  return new Map((await db.all(all, [])).map(({ user_id, set_at }) => [user_id, Number(set_at)]))
}

/** Methods of the credentials that administrators of the authentication service cannot set. */
export const personalMethods: readonly string[] = ['tls_auth', 'jwt_auth']

/**
 * Whether a credential waits at a time.
 * @param method undefined: it is not known, as of votes of older versions
 * @param setAt when a credential of the user was set; undefined: never
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
  const setAt = (await readSetCredentials(db)).get(name)
  if (setAt === undefined || !isWaiting(approvals, method, setAt, now)) return
  const from = new Date(setAt + approvals.credentialWaitMs).toISOString()
  throw failure(
    'forbidden',
    `approvals.credential_wait: an administrator set a credential of ${name} at ${new Date(setAt).toISOString()}; it counts for decisions of crypto officers from ${from} on.`,
  )
}
