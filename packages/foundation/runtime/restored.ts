import { createOwnEvent } from '../audit/index.ts'
import { forgetRestored } from '../sql/index.ts'
import type { RestoredBackup } from '../sql/types.ts'
import type { ServiceEnvironment } from './service.ts'

/** Records which backup the database was filled from, once the service has prepared for it: a start that fails tells it again. */
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
