import { createOwnEvent } from '@warder/audit'
import type { RestoredBackup } from '@warder/storage'
import { forgetRestored } from '@warder/storage'
import type { ServiceEnvironment } from './service.ts'

/** Records the backup that the database was restored from, once the service is prepared: a failed start leaves it to the next. */
export async function recordRestored(
  { db, audit, clock }: ServiceEnvironment<unknown>,
  { digest, madeAt, restoredAt }: RestoredBackup,
): Promise<void> {
  const details = {
    made_at: new Date(madeAt).toISOString(),
    restored_at: new Date(restoredAt).toISOString(),
  }
  await audit.recordDurably({ ...createOwnEvent(clock.now(), 'database.restored'), object: digest, details })
  await db.commit([forgetRestored()])
}
