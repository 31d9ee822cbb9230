import type { Logger } from '@warder/base'
import { TokenError } from '@warder/pkcs11'
import { type Database, GuardFailed } from '@warder/storage'
import { claimHsmKey, deleteHsmKey, type HsmKeyRow, listDueHsmKeys } from './hsm-key-store.ts'
import type { Hsms } from './hsms.ts'
import { countWrappedBy } from './wrapping-store.ts'

/** Maximum number of keys that one run removes. */
const maxRemoved = 100
/** Time after which a failed removal is retried, and for which a removal claims its key. */
const retryMs = 60_000

/** Removes keys from HSMs that no object uses any more. Keys that cannot be removed now are tried again. */
export async function removeDueHsmKeys(
  { db, hsms, log }: { readonly db: Database; readonly hsms: Hsms; readonly log: Logger },
  now: number,
): Promise<void> {
  for (const row of await listDueHsmKeys(db, now, maxRemoved)) {
    try {
      await db.commit([claimHsmKey(row, now + retryMs)])
      // A request that wrapped material before the key was destroyed may have committed after that.
      const wrapped = row.class === 'secret' ? await countWrappedBy(db, row.object_id) : 0
      if (wrapped > 0) throw new Error(`it wraps the material of ${wrapped} objects`)
      await removeKey(hsms, row)
      await db.commit([deleteHsmKey(row)])
      log.info({ hsm: row.hsm, label: row.label, object: row.object_id }, 'a key was removed from its HSM')
    } catch (error) {
      // Another node removes the key, or its object was created in the meantime.
      if (error instanceof GuardFailed) continue
      const reason = error instanceof Error ? error.message : String(error)
      log.warn(
        { hsm: row.hsm, label: row.label, object: row.object_id, reason },
        'a key could not be removed from its HSM, and is tried again',
      )
    }
  }
}

async function removeKey(hsms: Hsms, { hsm, class: kind, label, key_id: id }: HsmKeyRow): Promise<void> {
  const { token } = hsms.require(hsm)
  const key = { label, ...(id !== '' && { id }) }
  for (const part of kind === 'private' ? (['private', 'public'] as const) : (['secret'] as const)) {
    try {
      await token.destroy(part, key)
    } catch (error) {
      if (!(error instanceof TokenError && error.code === 'key_not_found')) throw error
    }
  }
}
