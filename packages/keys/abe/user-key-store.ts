import { type Database, query } from '@warder/storage'
import type { ManagedObject } from '../objects/managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from '../objects/object-row-store.ts'

const columns = objectColumns
  .split(', ')
  .map((column) => `o.${column}`)
  .join(', ')
const linkedToMaster = query<[master: string, limit: number], ObjectRow>(
  `SELECT ${columns} FROM object_link l JOIN managed_object o ON o.id = l.object_id
     WHERE l.link_type = 'ParentLink' AND l.linked_id = ? AND o.object_type = 'PrivateKey' AND o.algorithm = 'CoverCrypt'
     ORDER BY o.id LIMIT ?`,
)

/** User keys that one master key has here. */
const maxUserKeys = 65_536

/** The user keys that a master key issued here, of any owner. Any user can set links, so a link alone is no proof. */
export async function listUserKeys(db: Database, master: string): Promise<readonly ManagedObject[]> {
  const rows = await db.all(linkedToMaster, [master, maxUserKeys])
  return rows.map(toObject).filter(({ form }) => form.abe?.kind === 'user' && form.abe.master === master)
}

/** User keys of the owner of a master key that name it as their parent and do not follow it yet. */
export async function userKeysWithout(
  db: Database,
  { id, owner }: Pick<ManagedObject, 'id' | 'owner'>,
): Promise<readonly ManagedObject[]> {
  const rows = await db.all(linkedToMaster, [id, maxUserKeys])
  return rows
    .map(toObject)
    .filter(
      (user) => user.owner === owner && user.form.abe?.kind === 'user' && user.form.abe.master === undefined,
    )
}
