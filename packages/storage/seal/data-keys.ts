import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '@warder/base'
import { GuardFailed } from '../sql/errors.ts'
import type { Database } from '../sql/types.ts'
import { noId, opensCheckValue } from './check-value.ts'
import { encodeContext, openWith, sealWith } from './envelope.ts'
import { addDataKey, guardRootKey, readDataKeys, readRootKeyRow, rootKeyParameters } from './seal-store.ts'
import type { SealContext } from './types.ts'

/**
 * Values that a thread seals with one data key before the next key is made. Random 96-bit IVs allow 2^32 under one key
 * (SP 800-38D §8.3): this leaves room for 32 threads of all processes, and each begins a new count with a new key.
 */
const defaultSealsPerKey = 2 ** 27
/** A start replaces a newest data key of this age, so that restarts cannot accumulate up to the bound. */
const renewAfterMs = 30 * 24 * 3600 * 1000
/** Data keys appear rarely; values that name what is not there, hostile cookies too, share a query in this time. */
const minReloadMs = 100

export function toDataKeyContext(id: string): SealContext {
  return { table: 'data_key', row: id, column: 'wrapped' }
}

export interface DataKey {
  readonly id: Buffer
  readonly key: KeyObject
}

/** The data keys of a database, open in memory. */
export interface DataKeys {
  /** The newest. Counts: after `sealsPerKey` values a new one is made in the background. */
  forSealing(): DataKey
  get(id: string): KeyObject | undefined
  /** Also finds a key that another process created before this call. @throws StorageUnavailable */
  find(id: string): Promise<KeyObject | undefined>
}

export interface DataKeysOptions {
  readonly db: Database
  readonly service: string
  readonly clock: Clock
  /** The service key that wraps them. */
  readonly wrapping: KeyObject
  /** Version of the root key row that `wrapping` belongs to: a new data key is added under it or not at all. */
  readonly version: number
  readonly sealsPerKey?: number
}

export async function openDataKeys(options: DataKeysOptions): Promise<DataKeys> {
  const { db, service, clock, wrapping } = options
  const sealsPerKey = options.sealsPerKey ?? defaultSealsPerKey
  const keys = new Map<string, KeyObject>()
  let newest: (DataKey & { readonly createdAt: number }) | undefined
  let sealed = 0
  let version = options.version
  let renewing = false
  let lookedAt = Number.NEGATIVE_INFINITY
  /** Ends when the last look did, well or not. */
  let looked: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  const load = async (): Promise<void> => {
    for (const row of await db.all(readDataKeys, [])) {
      if (keys.has(row.id)) continue
      const key = unwrap(wrapping, service, row)
      // Made by a process that was started after the root key changed: this one has to be started again to read it.
      if (key === undefined) continue
      keys.set(row.id, key)
      // Rows come in order of age: the newest seals.
      newest = { id: Buffer.from(row.id, 'hex'), key, createdAt: row.created_at }
      sealed = 0
    }
  }
  /** Callers share a load that has not begun; a load that has begun may miss the key. */
  const reload = async (): Promise<void> => {
    await looked
    const early = lookedAt + minReloadMs - clock.monotonic()
    if (early > 0) await wait(early)
    next = undefined
    const loading = load().finally(() => {
      lookedAt = clock.monotonic()
    })
    looked = loading.catch(() => undefined)
    await loading
  }
  const renew = async (): Promise<void> => {
    const id = randomBytes(16).toString('hex')
    const bytes = randomBytes(32)
    const wrapped = sealWith(wrapping, noId, encodeContext(service, toDataKeyContext(id)), bytes)
    bytes.fill(0)
    try {
      // The guard lets one process win, and none that still has the root key of before a rotation.
      await db.commit([guardRootKey(version), addDataKey(id, wrapped, clock.now())])
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
    }
    const row = await db.get(readRootKeyRow, rootKeyParameters)
    if (row !== undefined && opensCheckValue(wrapping, service, row.check_value)) version = row.version
    await load()
  }
  const renewSoon = (): void => {
    if (renewing) return
    renewing = true
    // When the database cannot be written now, the next attempt follows after the same number of values.
    const allowRenewal = (): void => {
      renewing = false
      sealed = 0
    }
    renew().then(allowRenewal, allowRenewal)
  }

  await load()
  if (newest === undefined) throw new Error('this root key decrypts no data key of the database')
  if (clock.now() - newest.createdAt > renewAfterMs) await renew()

  return {
    forSealing() {
      sealed += 1
      if (sealed > sealsPerKey) renewSoon()
      return newest as DataKey
    },
    get: (id) => keys.get(id),
    async find(id) {
      await looked
      if (!keys.has(id)) {
        next ??= reload()
        await next
      }
      return keys.get(id)
    },
  }
}

function unwrap(
  wrapping: KeyObject,
  service: string,
  row: { readonly id: string; readonly wrapped: Uint8Array },
): KeyObject | undefined {
  try {
    const bytes = openWith(wrapping, encodeContext(service, toDataKeyContext(row.id)), row.wrapped)
    const key = createSecretKey(bytes)
    bytes.fill(0)
    return key
  } catch {
    return undefined
  }
}
