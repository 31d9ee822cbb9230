import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '@warder/base'
import { GuardFailed } from '../sql/errors.ts'
import type { Database } from '../sql/types.ts'
import { encodeContext, noId, opensCheckValue, openWith, type SealContext, sealWith } from './envelope.ts'
import { addDataKey, guardRootKey, readDataKeys, readRootKeyRow, rootKeyParameters } from './seal-store.ts'

/**
 * Values that a thread seals with one data key before the next key is made. Random 96-bit IVs allow 2^32 under one key
 * (SP 800-38D §8.3): this leaves room for 32 threads of all processes, and each begins a new count with a new key.
 */
const defaultSealsPerKey = 2 ** 27
/** A start replaces a newest data key of this age, so that restarts cannot accumulate up to the bound. */
const renewAfterMs = 30 * 24 * 3600 * 1000
/**
 * Data keys appear rarely; values with unknown keys, including hostile cookies, share a query in this time.
 */
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
  const keys = new OpenDataKeys(options)
  await keys.open()
  return keys
}

class OpenDataKeys implements DataKeys {
  readonly #options: DataKeysOptions
  readonly #sealsPerKey: number
  readonly #keys = new Map<string, KeyObject>()
  #newest: (DataKey & { readonly createdAt: number }) | undefined
  /** Values that the newest key has sealed. */
  #sealed = 0
  #version: number
  #renewing = false
  /** When the last load ended. Monotonic. */
  #loadedAt = Number.NEGATIVE_INFINITY
  /** Ends when the last load did, well or not. */
  #loaded: Promise<void> = Promise.resolve()
  /** A load that has not begun. */
  #next: Promise<void> | undefined

  constructor(options: DataKeysOptions) {
    this.#options = options
    this.#sealsPerKey = options.sealsPerKey ?? defaultSealsPerKey
    this.#version = options.version
  }

  async open(): Promise<void> {
    const { clock } = this.#options
    await this.#load()
    if (this.#newest === undefined) throw new Error('this root key decrypts no data key of the database')
    if (clock.now() - this.#newest.createdAt > renewAfterMs) await this.#renew()
  }

  forSealing(): DataKey {
    this.#sealed += 1
    if (this.#sealed > this.#sealsPerKey) this.#renewSoon()
    return this.#newest as DataKey
  }

  get(id: string): KeyObject | undefined {
    return this.#keys.get(id)
  }

  async find(id: string): Promise<KeyObject | undefined> {
    await this.#loaded
    if (!this.#keys.has(id)) {
      this.#next ??= this.#reload()
      await this.#next
    }
    return this.#keys.get(id)
  }

  async #load(): Promise<void> {
    const { db, service, wrapping } = this.#options
    for (const row of await db.all(readDataKeys, [])) {
      if (this.#keys.has(row.id)) continue
      const key = unwrap(wrapping, service, row)
      // Made by a process that was started after the root key changed: this one has to be started again to read it.
      if (key === undefined) continue
      this.#keys.set(row.id, key)
      // Rows come in order of age: the newest seals.
      this.#newest = { id: Buffer.from(row.id, 'hex'), key, createdAt: row.created_at }
      this.#sealed = 0
    }
  }

  /** Callers share a load that has not begun; a load that has begun may miss the key. */
  async #reload(): Promise<void> {
    const { clock } = this.#options
    await this.#loaded
    const early = this.#loadedAt + minReloadMs - clock.monotonic()
    if (early > 0) await wait(early)
    this.#next = undefined
    const loading = this.#load().finally(() => {
      this.#loadedAt = clock.monotonic()
    })
    this.#loaded = loading.catch(() => undefined)
    await loading
  }

  #renewSoon(): void {
    if (this.#renewing) return
    this.#renewing = true
    // When the database cannot be written now, the next attempt follows after the same number of values.
    const allowRenewal = (): void => {
      this.#renewing = false
      this.#sealed = 0
    }
    this.#renew().then(allowRenewal, allowRenewal)
  }

  async #renew(): Promise<void> {
    const { db, service, clock, wrapping } = this.#options
    const id = randomBytes(16).toString('hex')
    const bytes = randomBytes(32)
    const wrapped = sealWith(wrapping, noId, encodeContext(service, toDataKeyContext(id)), bytes)
    bytes.fill(0)
    try {
      // The guard lets one process win, and none that still has the root key of before a rotation.
      await db.commit([guardRootKey(this.#version), addDataKey(id, wrapped, clock.now())])
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
    }
    const row = await db.get(readRootKeyRow, rootKeyParameters)
    if (row !== undefined && opensCheckValue(wrapping, service, row.check_value)) this.#version = row.version
    await this.#load()
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
