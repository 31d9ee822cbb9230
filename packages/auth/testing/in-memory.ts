import type { AuditEvent, AuditTrail } from '@warder/audit'
import type { Logger, Metrics } from '@warder/base'
import { type Database, StorageUnavailable } from '@warder/storage'

/** Faults that a test injects into a running service, and removes again. */
export interface Faults {
  /** The database cannot be reached. */
  database: boolean
  /** The audit log cannot be written. */
  audit: boolean
}

/** A database that fails like an unreachable one while the fault is active. */
export function breakable(db: Database, faults: Faults): Database {
  const whole = (): void => {
    if (faults.database) throw new StorageUnavailable('the test took it away')
  }
  const { dataVersion } = db
  return {
    ...db,
    get(statement, params) {
      whole()
      return db.get(statement, params)
    },
    all(statement, params) {
      whole()
      return db.all(statement, params)
    },
    ...(dataVersion && {
      dataVersion() {
        whole()
        return dataVersion()
      },
    }),
    async commit(changes) {
      whole()
      return db.commit(changes)
    },
    async ping() {
      whole()
      return db.ping()
    },
  }
}

export function memoryTrail(events: AuditEvent[], faults: Faults, mode: AuditTrail['mode']): AuditTrail {
  return {
    mode,
    record: (event) => void events.push(event),
    async recordDurably(event) {
      if (faults.audit) throw new Error('the disk is full')
      events.push(event)
    },
    flush: async () => {},
  }
}

export function memoryLog(lines: string[]): Logger {
  const write = (fields: Readonly<Record<string, unknown>>, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log }
  return log
}

export function memoryMetrics() {
  const counted = new Map<string, number>()
  const gauges = new Map<string, () => number>()
  const metrics: Metrics = {
    operation() {},
    count(name, labels = {}, by = 1) {
      const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
      const key = pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`
      counted.set(key, (counted.get(key) ?? 0) + by)
    },
    gauge: (name, _help, read) => void gauges.set(name, read),
    collected() {},
    exposition: async () => '',
  }
  return { metrics, counted, gauges }
}
