import { type Change, change, type Database, insertInto, query, type Seal } from '@warder/storage'

/** The record of a recovery for the audit log. */
export interface Recovery {
  readonly id: string
  /** Unix milliseconds. */
  readonly at: number
  /** User of the operating system who ran the command. */
  readonly by: string
  readonly admin: string
  readonly realm: string
  readonly username: string
  readonly totp_removed: boolean
}

const find = query<[], { readonly id: string; readonly record: Uint8Array }>(
  'SELECT id, record FROM admin_recovery ORDER BY id LIMIT 100',
)
const insert = insertInto<[id: string, record: Uint8Array]>('admin_recovery', ['id', 'record'])
const remove = query<[id: string], unknown>('DELETE FROM admin_recovery WHERE id = ?')

const sealContext = (id: string) => ({ table: 'admin_recovery', row: id, column: 'record' })

export function recoveryInsertion(seal: Seal, recovery: Recovery): Change {
  const record = seal.seal(sealContext(recovery.id), Buffer.from(JSON.stringify(recovery)))
  return change(insert, [recovery.id, record])
}

export async function isAnyRecovery(db: Database): Promise<boolean> {
  return (await db.get(find, [])) !== undefined
}

/**
 * Lists the recoveries that are not in the audit log yet. @throws for a record that was not sealed with the root key
 */
export async function listRecoveries(db: Database, seal: Seal): Promise<readonly Recovery[]> {
  const rows = await db.all(find, [])
  return Promise.all(
    rows.map(async ({ id, record }) => {
      const text = Buffer.from(await seal.open(sealContext(id), record)).toString('utf8')
      return JSON.parse(text) as Recovery
    }),
  )
}

export function recoveryRemoval(id: string): Change {
  return change(remove, [id])
}
