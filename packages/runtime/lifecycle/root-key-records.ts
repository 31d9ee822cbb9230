import { createOwnEvent } from '@warder/audit'
import { countRootKeyRecords, listRootKeyRecords, removeRootKeyRecord } from '@warder/storage'
import type { PeriodicJob } from './periodic.ts'
import type { ServiceEnvironment } from './service.ts'

/** Writes records of commands that changed the root key to the audit log of one node, and then removes them. */
export function createRootKeyJob({
  db,
  seal,
  clock,
  audit,
  log,
}: Pick<ServiceEnvironment<unknown>, 'db' | 'seal' | 'clock' | 'audit' | 'log'>): PeriodicJob {
  return {
    name: 'records of the root key',
    everySeconds: 5,
    due: async () => (await countRootKeyRecords(db)) > 0,
    async run() {
      for (const { id, operation, at, details } of await listRootKeyRecords(db, seal)) {
        log.warn({ operation, ...details }, 'a command changed how the root key is opened')
        await audit.recordDurably({
          ...createOwnEvent(clock.now(), operation),
          details: { ...details, at: new Date(at).toISOString() },
        })
        await db.commit([removeRootKeyRecord(id)])
      }
    },
  }
}
