import { createOwnEvent } from '@warder/audit'
import type { ServiceEnvironment } from '@warder/runtime'
import { listRecoveries, recoveryRemoval } from './recovery-store.ts'

/** Writes the recoveries that a command committed to the audit log, and then deletes them. */
export async function recordRecoveries({
  db,
  seal,
  clock,
  audit,
  log,
}: Pick<ServiceEnvironment<unknown>, 'db' | 'seal' | 'clock' | 'audit' | 'log'>): Promise<void> {
  for (const { id, at, realm, username, ...details } of await listRecoveries(db, seal)) {
    log.warn({ realm, username, ...details }, 'an administrator was recovered: warder admin recover')
    await audit.recordDurably({
      ...createOwnEvent(clock.now(), 'admin.recovered'),
      realm,
      object: username,
      details: { ...details, at: new Date(at).toISOString() },
    })
    await db.commit([recoveryRemoval(id)])
  }
}
