import type { ObjectId } from '@warder/keys'
import { type Database, query } from '@warder/storage'

/**
 * Certificates and private keys that are to be renewed by themselves and were not renewed yet. `object_attribute` has a row of the
 * attribute if it is set.
 */
const renewable = query<[after: string, limit: number], { readonly id: string }>(
  `SELECT o.id FROM object_attribute a JOIN managed_object o ON o.id = a.object_id
     WHERE a.name = 'RotateAutomatic' AND a.value = 'true' AND a.object_id > ?
       AND o.object_type IN ('Certificate', 'PrivateKey') AND o.state = 'Active' AND o.archived_at IS NULL
       AND NOT EXISTS (
         SELECT 1 FROM object_link l WHERE l.object_id = o.id AND l.link_type = 'ReplacementObjectLink')
     ORDER BY a.object_id LIMIT ?`,
)

/** A page of their identifiers. @param after the last one of the page before; '' for the first */
export async function renewablePage(
  db: Database,
  after: string,
  limit: number,
): Promise<readonly ObjectId[]> {
  return (await db.all(renewable, [after, limit])).map(({ id }) => id as ObjectId)
}
