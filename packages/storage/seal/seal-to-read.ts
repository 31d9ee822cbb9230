import type { Database } from '../sql/types.ts'
import { toDataKeyContext } from './data-keys.ts'
import { encodeContext, openWith, readDataKeyId, UnknownDataKey } from './envelope.ts'
import type { RootKey } from './root-key.ts'
import { findMatchingRootKey } from './seal.ts'
import { readDataKeys } from './seal-store.ts'
import type { Seal } from './types.ts'

export interface SealToReadOptions {
  readonly db: Database
  readonly rootKeys: readonly RootKey[]
  readonly service: string
}

/**
 * Opens what a service has sealed, and writes nothing: for a command beside a running service, and for a start that does
 * not know yet whether this is its database.
 * @returns undefined when no root key of these fits the database, or nothing was ever sealed in it
 */
export async function openSealToRead({
  db,
  rootKeys,
  service,
}: SealToReadOptions): Promise<Pick<Seal, 'open'> | undefined> {
  const matching = await findMatchingRootKey({ db, rootKeys, service })
  if (matching === undefined || matching === 'empty') return undefined
  const wrapped = new Map((await db.all(readDataKeys, [])).map((row) => [row.id, row.wrapped]))
  return {
    async open(context, sealed) {
      const id = readDataKeyId(sealed)
      const found = id === undefined ? undefined : wrapped.get(id)
      if (id === undefined || found === undefined)
        throw new UnknownDataKey(`the data key of ${context.table}.${context.column} is not known`)
      const key = openWith(matching.key, encodeContext(service, toDataKeyContext(id)), found)
      try {
        return openWith(key, encodeContext(service, context), sealed)
      } finally {
        key.fill(0)
      }
    },
  }
}
