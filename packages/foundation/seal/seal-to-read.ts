import type { Database } from '../sql/types.ts'
import { dataKeyPlace } from './data-keys.ts'
import { additionalData, dataKeyIdOf, openWith } from './envelope.ts'
import { UnknownDataKey } from './errors.ts'
import type { RootKey } from './root-key.ts'
import { findFitting } from './seal.ts'
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
  const fitting = await findFitting({ db, rootKeys, service })
  if (fitting === undefined || fitting === 'empty') return undefined
  const wrapped = new Map((await db.all(readDataKeys, [])).map((row) => [row.id, row.wrapped]))
  return {
    open(place, sealed) {
      const id = dataKeyIdOf(sealed)
      const found = id === undefined ? undefined : wrapped.get(id)
      if (id === undefined || found === undefined)
        throw new UnknownDataKey(`the data key of ${place.table}.${place.column} is not known`)
      const key = openWith(fitting.key, additionalData(service, dataKeyPlace(id)), found)
      try {
        return openWith(key, additionalData(service, place), sealed)
      } finally {
        key.fill(0)
      }
    },
  }
}
