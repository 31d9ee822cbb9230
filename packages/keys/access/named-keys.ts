import { BoundedMap, failure } from '@warder/base'
import type { Commit, Database } from '@warder/storage'
import type { Key } from '../objects/key-ring.ts'
import { findRememberedOwner, rememberOwner } from './named-key-store.ts'

/**
 * Keys that settings name, each with the owner that it had when the service first found it
 * (docs/adr/identifiers-and-aliases.md).
 */
export interface NamedKeys {
  /**
   * The key, unless another owner has brought an object with its identifier since. A transfer of the key is followed.
   * @throws failure('conflict')
   */
  require(key: Key): Promise<Key>
}

const maxCached = 1000

export function createNamedKeys(parts: {
  readonly db: Database
  readonly commit: Commit
  readonly now: () => number
}): NamedKeys {
  const { db, commit, now } = parts
  const owners = new BoundedMap<string, string>(maxCached)

  async function look(key: Key): Promise<Key> {
    const { id, owner } = key.object
    let known = await findRememberedOwner(db, id)
    if (known === undefined) {
      await commit([rememberOwner(id, owner, now())])
      known = await findRememberedOwner(db, id)
    }
    if (known !== owner)
      throw failure(
        'conflict',
        'The owner of the configured key has changed since its first use: configure another key.',
        { detail: `key ${id} was owned by ${known}, and is owned by ${owner}` },
      )
    owners.set(id, owner)
    return key
  }

  return {
    require: async (key) => (owners.get(key.object.id) === key.object.owner ? key : look(key)),
  }
}
