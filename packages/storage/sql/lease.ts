import type { Clock } from '@warder/base'
import { GuardFailed, UniqueViolation } from './errors.ts'
import { change, insertInto, query } from './query.ts'
import type { Database, Migration } from './types.ts'

export const leaseMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'leases',
    statements: [
      'CREATE TABLE lease (name TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, until_ms BIGINT NOT NULL, version BIGINT NOT NULL)',
    ],
  },
]

const read = query<[name: string], { holder: string; until_ms: number; version: number }>(
  'SELECT holder, until_ms, version FROM lease WHERE name = ?',
)
const take = query<[holder: string, until: number, name: string, version: number]>(
  'UPDATE lease SET holder = ?, until_ms = ?, version = version + 1 WHERE name = ? AND version = ?',
)
const first = insertInto<[string, string, number, number]>('lease', ['name', 'holder', 'until_ms', 'version'])

const drop = query<[name: string]>('DELETE FROM lease WHERE name = ?')
const probeName = 'health'

/**
 * Writes a probe row and reads it. @throws when the database cannot be written or read
 * @param value must differ each time: SQLite does not write an unchanged value
 */
export async function writeProbe(db: Database, value: number): Promise<void> {
  try {
    await db.commit([change(drop, [probeName]), change(first, [probeName, '', value, 1], 1)])
  } catch (error) {
    // Another process wrote it at the same time.
    if (!(error instanceof UniqueViolation)) throw error
  }
  await db.get(read, [probeName])
}

/**
 * Ensures one holder across nodes, for periodic work. Clocks of nodes must agree to within the lease. All holders of a name
 * request the same duration: a lease that ends later than any of them could request is invalid.
 * @returns whether this holder has the lease now (taken or prolonged by `seconds`)
 */
export async function holdLease(
  db: Database,
  name: string,
  holder: string,
  seconds: number,
  clock: Clock,
): Promise<boolean> {
  const now = clock.now()
  const until = now + seconds * 1000
  const row = await db.get(read, [name])
  try {
    if (row === undefined) {
      await db.commit([change(first, [name, holder, until, 1], 1)])
      return true
    }
    // Clocks agree to within the lease: a lease that ends even later was taken by a wrong clock.
    const latest = until + seconds * 1000
    if (row.holder !== holder && row.until_ms > now && row.until_ms <= latest) return false
    await db.commit([change(take, [holder, until, name, row.version], 1)])
    return true
  } catch (error) {
    if (error instanceof GuardFailed || error instanceof UniqueViolation) return false
    throw error
  }
}
