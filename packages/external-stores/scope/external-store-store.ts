import type { ExternalStoreName } from '@warder/keys'
import { type Change, change, type Database, query } from '@warder/storage'

export interface ExternalStoreRow {
  /** Unix milliseconds; null = it is not stopped. */
  readonly stopped_at: number | null
  /** The name of the user who stopped it. */
  readonly stopped_by: string | null
  readonly version: number
}

/** Topic of `db.changed`: the keys are names of stores. */
export const externalStoreTopic = 'external_store'

const byName = query<[name: string], ExternalStoreRow>(
  'SELECT stopped_at, stopped_by, version FROM external_store WHERE name = ?',
)
const update = query<[at: number | null, by: string | null, name: string, version: number], unknown>(
  'UPDATE external_store SET stopped_at = ?, stopped_by = ?, version = version + 1 WHERE name = ? AND version = ?',
)

export const externalStoreVersion = query<[name: string], { readonly version: number }>(
  'SELECT version FROM external_store WHERE name = ?',
)

export async function readExternalStore(
  db: Database,
  name: ExternalStoreName,
): Promise<ExternalStoreRow | undefined> {
  return db.get(byName, [name])
}

/** Stops a store, or resumes it (`stopped` undefined); fails when a concurrent change came first. */
export function stopChanges(
  db: Database,
  name: ExternalStoreName,
  version: number,
  stopped: { readonly at: number; readonly by: string } | undefined,
): Change[] {
  const { at = null, by = null } = stopped ?? {}
  return [change(update, [at, by, name, version], 1), db.changed(externalStoreTopic, name)]
}
