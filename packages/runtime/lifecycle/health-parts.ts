import type { AuditTrail } from '@warder/audit'
import type { Clock } from '@warder/base'
import { databaseDown, type HealthPart } from '@warder/server'
import { type Database, writeProbe } from '@warder/storage'

/** Checks that a database answers reads: for databases without tables of the runtime. */
export function readableDatabase(db: Database): HealthPart {
  return { key: 'database', name: db.dialect, message: databaseDown, probe: () => db.ping() }
}

/**
 * The source that wraps the root key. The service works without it, until it is restarted.
 * @param memory as `createRootKeyState` makes it
 */
export function rootKeySourcePart(source: string, memory: SharedArrayBuffer): HealthPart {
  const state = new Int32Array(memory)
  const listUnavailable = (): readonly number[] =>
    Array.from({ length: 31 }, (_, index) => index).filter(
      (index) => (Atomics.load(state, 1) & (1 << index)) !== 0,
    )
  return {
    key: 'root_key',
    name: source,
    required: false,
    get message() {
      if (Atomics.load(state, 0) === 0)
        return 'The source of the root key cannot be used: a restart would fail.'
      const places = listUnavailable().map((index) => index + 1)
      return `The root key can be opened, but not by all of its tokens: number ${places.join(', ')} of the settings cannot be used.`
    },
    async probe() {
      if (Atomics.load(state, 0) === 0 || listUnavailable().length > 0)
        throw new Error('see the warning of the main thread')
    },
  }
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
