import type { AuditTrail } from '@warder/audit'
import type { Clock } from '@warder/base'
import { databaseDown, type HealthPart } from '@warder/server'
import { type Database, writeProbe } from '@warder/storage'

/** Checks that a database answers reads: for databases without tables of the runtime. */
export function readableDatabase(db: Database): HealthPart {
  return { key: 'database', name: db.dialect, message: databaseDown, probe: () => db.ping() }
}

/** The parts that `/health` checks in a started service. Another part is another element. */
export function createHealthParts(db: Database, audit: AuditTrail, clock: Clock): readonly HealthPart[] {
  const database: HealthPart = {
    key: 'database',
    name: db.dialect,
    message: 'The database does not respond or cannot be written.',
    // Writing a row and reading it reveals a full disk, a read-only file and a malformed one.
    probe: () => writeProbe(db, clock.now()),
  }
  const log: HealthPart = {
    key: 'audit',
    name: 'audit log',
    message: 'The audit log cannot be written.',
    probe: async () => audit.probe?.(),
  }
  return audit.mode === 'reject' ? [database, log] : [database]
}
