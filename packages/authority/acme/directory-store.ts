import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import type { ChallengeType } from './identifiers.ts'

/** ACME settings of an authority: the certificates that it issues, and the clients. */
export interface DirectorySettings {
  readonly profile: 'server' | 'client'
  /** Validity of certificates. */
  readonly days: number
  readonly externalAccountRequired: boolean
  readonly challenges: readonly ChallengeType[]
  /** Of one account. */
  readonly ordersPerHour: number
  /** Names of the authority in CAA records, in lower case. If there are any, CAA records are checked. */
  readonly caaIdentities?: readonly string[]
  readonly termsOfService?: string
  readonly website?: string
}

/** An authority that is open for ACME. */
export interface Directory {
  readonly authorityId: string
  readonly settings: DirectorySettings
  /** The user who opened it, and who owns certificates of accounts without a credential. */
  readonly openedBy: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly version: number
}

interface Row {
  readonly authority_id: string
  readonly settings: string
  readonly opened_by: string
  readonly created_at: number
  readonly version: number
}

const byId = query<[id: string], Row>(
  'SELECT authority_id, settings, opened_by, created_at, version FROM acme_directory WHERE authority_id = ?',
)
const insert = insertInto<[string, string, string, number, number]>('acme_directory', [
  'authority_id',
  'settings',
  'opened_by',
  'created_at',
  'version',
])
const update = query<[settings: string, openedBy: string, id: string, version: number], unknown>(
  'UPDATE acme_directory SET settings = ?, opened_by = ?, version = version + 1 WHERE authority_id = ? AND version = ?',
)
const remove = query<[id: string], unknown>('DELETE FROM acme_directory WHERE authority_id = ?')

export async function findDirectory(db: Database, authorityId: string): Promise<Directory | undefined> {
  const row = await db.get(byId, [authorityId])
  return (
    row && {
      authorityId: row.authority_id,
      settings: JSON.parse(row.settings) as DirectorySettings,
      openedBy: row.opened_by,
      createdAt: row.created_at,
      version: row.version,
    }
  )
}

/** Opens a directory, or changes the settings of an open one. @param before as it was read */
export function openDirectory(
  { authorityId, settings, openedBy, createdAt }: Omit<Directory, 'version'>,
  before: Directory | undefined,
): Change {
  return before === undefined
    ? change(insert, [authorityId, JSON.stringify(settings), openedBy, createdAt, 1], 1)
    : change(update, [JSON.stringify(settings), openedBy, authorityId, before.version], 1)
}

/** The guard fails when it is not open. */
export function closeDirectory(authorityId: string): Change {
  return change(remove, [authorityId], 1)
}
