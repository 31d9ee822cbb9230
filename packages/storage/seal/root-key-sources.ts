import { randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, Secret, StartupError } from '@warder/base'
import type { Database } from '../sql/types.ts'
import { decodeContext, encodeContext } from './envelope.ts'
import type { RootKey } from './root-key.ts'
import { commitFirstKeys, findMatchingRootKey } from './seal.ts'
import {
  addRootKeySource,
  listRootKeySources,
  type RootKeySourceRow,
  readRootKeyRow,
  rootKeyParameters,
} from './seal-store.ts'
import { decodeShareSet, describeSet, encodeShareSet, type ShareSet } from './share-set.ts'
import { unwrapWithSet, wrapForSet } from './share-set-wrap.ts'

/**
 * A system that holds a key of its own, and wraps the root key of each database with it. It never receives data, and is
 * needed only when a service starts.
 */
export interface RootKeyProvider {
  /** The value of `root_key_source`. */
  readonly source: string
  /** The server and its key, for operators and the database; never a secret. */
  readonly description: string
  /** The systems of a provider that has several. Each of them can unwrap the values that this provider wraps. */
  readonly members?: readonly RootKeyProvider[]
  /** Creates its key where that is missing and the provider can. Not called by a test, which changes nothing. */
  prepare?(): Promise<void>
  /**
   * @param context additional data, where the protocol has it @returns at most 16 KiB
   * @throws RootKeyUnavailable when another attempt may succeed; StartupError when it cannot
   */
  wrap(key: Uint8Array, context: Uint8Array): Promise<Uint8Array>
  /** @throws as `wrap` */
  unwrap(wrapped: Uint8Array, context: Uint8Array): Promise<Uint8Array>
}

/** The provider did not respond, or not now. */
export class RootKeyUnavailable extends Error {
  override readonly name = 'RootKeyUnavailable'
}

/** A source, as a database records it. */
export type NewRootKeySource = Omit<RootKeySourceRow, 'id'>

/** How often a provider is asked before a start gives up. */
export interface ProviderRetries {
  /** Default 5, with pauses of 1, 2, 4 and 8 seconds. */
  readonly attempts?: number
  readonly wait?: (ms: number) => Promise<unknown>
  /** For one call of the provider; default 30 s, which no provider with a limit of its own reaches. */
  readonly timeoutMs?: number
  onRetry?(detail: string, waitMs: number): void
}

const keyBytes = 32
const firstWaitMs = 1000
const maxWrappedBytes = 16_384

/**
 * Wraps a root key for one database. The bytes begin with their context, which is also the additional data, so that the
 * refusal of a foreign one can name its origin: length (2) | context | bytes of the provider.
 * @param salt identifies the database: a random value that changes with the root key
 */
async function wrapRootKey(
  provider: RootKeyProvider,
  key: Uint8Array,
  { service, salt }: { readonly service: string; readonly salt: Uint8Array },
  retries: ProviderRetries = {},
): Promise<Buffer> {
  const context = toContext(service, salt)
  const wrapped = await callProvider(provider, retries, () => provider.wrap(key, context))
  if (wrapped.length === 0 || wrapped.length > maxWrappedBytes)
    throw new StartupError(`${provider.description} returned a wrapped root key of ${wrapped.length} bytes`)
  // Before anything depends on it: a credential may permit the one and not the other.
  for (const member of provider.members ?? [provider]) {
    const again = await callProvider(member, retries, () => member.unwrap(wrapped, context))
    if (again.length !== key.length || !timingSafeEqual(again, key))
      throw new StartupError(`${member.description} does not unwrap what it wrapped`)
    again.fill(0)
  }
  const length = Buffer.alloc(2)
  length.writeUInt16BE(context.length)
  return Buffer.concat([length, context, wrapped])
}

/** Wraps and unwraps a random value. @throws StartupError */
export async function testProvider(provider: RootKeyProvider, service: string): Promise<void> {
  await wrapRootKey(provider, randomBytes(keyBytes), { service, salt: randomBytes(16) }, { attempts: 1 })
}

/**
 * @returns 32 bytes; whether they are the root key of the database is for its check value to say
 * @throws StartupError
 */
async function unwrapRootKey(
  provider: RootKeyProvider,
  stored: Uint8Array,
  { service, salt }: { readonly service: string; readonly salt: Uint8Array },
  retries: ProviderRetries = {},
): Promise<Secret> {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
  const end = bytes.length < 2 ? 0 : 2 + bytes.readUInt16BE(0)
  const context = bytes.subarray(2, end)
  if (!context.equals(toContext(service, salt)))
    throw new StartupError(
      `the wrapped root key belongs to ${describeContext(context)}, not to the ${service} database ${toId(salt)}: restore the database with its own`,
    )
  const key = await callProvider(provider, retries, () => provider.unwrap(bytes.subarray(end), context))
  if (key.length !== keyBytes)
    throw new StartupError(
      `${provider.description} returned ${key.length} bytes, not a root key of ${keyBytes}`,
    )
  return new Secret(key)
}

function toContext(service: string, salt: Uint8Array): Buffer {
  return encodeContext(service, { table: 'root_key_source', row: toId(salt), column: 'wrapped' })
}

function toId(salt: Uint8Array): string {
  return Buffer.from(salt).toString('hex')
}

/** `the NAME database 0f3c…`, of whatever bytes. */
function describeContext(context: Buffer): string {
  const [service, , id] = decodeContext(context)
  return service !== undefined && id !== undefined && /^[a-z]+[0-9a-f]{32}$/.test(service + id)
    ? `the ${service} database ${id}`
    : 'no database of Warder'
}

async function callProvider<Result>(
  provider: RootKeyProvider,
  { attempts = 5, wait: pause = (ms) => wait(ms), timeoutMs = 30_000, onRetry }: ProviderRetries,
  call: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withTimeout(call(), timeoutMs)
    } catch (error) {
      if (!(error instanceof RootKeyUnavailable)) throw error
      const tried = attempts === 1 ? '' : ` (${attempts} attempts)`
      if (attempt >= attempts)
        throw new StartupError(
          `root_key_source: ${provider.description} cannot be used: ${error.message}${tried}; without it the root key stays wrapped`,
          { cause: error },
        )
      const waitMs = firstWaitMs * 2 ** (attempt - 1)
      onRetry?.(error.message, waitMs)
      await pause(waitMs)
    }
  }
}

async function withTimeout<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new RootKeyUnavailable(`no response within ${ms} ms`)), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

interface ProvidedRootKey {
  readonly db: Database
  readonly service: string
  readonly provider: RootKeyProvider
  readonly retries?: ProviderRetries
}

/**
 * Unwraps the root key of a database, and compares it with the check value.
 * @returns undefined: nothing was sealed yet
 * @throws StartupError that names the source, and the one to which the database was moved
 */
export async function unwrapDatabaseKey({
  db,
  service,
  provider,
  retries,
}: ProvidedRootKey): Promise<RootKey | undefined> {
  const row = await db.get(readRootKeyRow, rootKeyParameters)
  if (row === undefined) return undefined
  const rows = await listRootKeySources(db)
  const wrapped = rows.filter(({ source, wrapped }) => source === provider.source && wrapped !== null)
  if (wrapped.length === 0) throw new StartupError(describeOtherSource(service, rows, provider))
  const isNamed = ({ description }: RootKeySourceRow): boolean => description === provider.description
  const problems: unknown[] = []
  for (const one of [...wrapped.filter(isNamed), ...wrapped.filter((other) => !isNamed(other))]) {
    try {
      const key = await unwrapRootKey(
        provider,
        one.wrapped ?? new Uint8Array(),
        { service, salt: row.salt },
        retries,
      )
      const root: RootKey = { kind: 'key', from: provider.description, key }
      const matching = await findMatchingRootKey({ db, service, rootKeys: [root] })
      if (matching !== undefined) return root
      throw new StartupError(
        `wrong root key: ${provider.description} returned a value that does not match the check value of the ${service} database: the key there is not the one that wrapped it (nothing was changed)`,
      )
    } catch (error) {
      if (!(error instanceof StartupError)) throw error
      problems.push(error)
    }
  }
  throw problems[0]
}

function describeOtherSource(
  service: string,
  rows: readonly RootKeySourceRow[],
  { source, description }: Pick<RootKeyProvider, 'source' | 'description'>,
): string {
  const way = `or move it: warder root-key move --to ${source}`
  const [row] = rows
  if (row === undefined)
    return `root_key_source is ${source}, but the ${service} database contains no root key wrapped by ${description}: set root_key_source to the one it was sealed with (file, environment, passphrase or systemd), ${way}`
  return `root_key_source is ${source}, but the root key of the ${service} database is in ${row.source} (${row.description}) since ${new Date(row.created_at).toISOString()}: set root_key_source = "${row.source}", ${way}`
}

/**
 * The root key of a provider; on the first run creates it, wraps it and commits it with the check value and the first data
 * key. Nothing is written unless the provider also unwraps it.
 * @throws StartupError
 */
export async function openProvidedRootKey(
  options: ProvidedRootKey & { readonly clock: Clock; readonly create: boolean },
): Promise<readonly RootKey[]> {
  const found = await unwrapDatabaseKey(options)
  if (found !== undefined) return [found]
  if (!options.create) return []
  const { db, service, provider, clock, retries } = options
  const { root, salt, source } = await createWrappedRootKey(provider, service, clock.now(), retries)
  await commitFirstKeys(root, { db, service, clock, salt }, addRootKeySource(source))
  const created = await unwrapDatabaseKey(options)
  return created === undefined ? [] : [created]
}

/** A new random root key, with the row that keeps it wrapped. */
export async function createWrappedRootKey(
  provider: RootKeyProvider,
  service: string,
  now: number,
  retries?: ProviderRetries,
): Promise<{ readonly root: RootKey; readonly salt: Buffer; readonly source: NewRootKeySource }> {
  const { prepare } = provider
  if (prepare !== undefined) await callProvider(provider, retries ?? {}, () => prepare.call(provider))
  const [key, salt] = [randomBytes(keyBytes), randomBytes(16)]
  const wrapped = await wrapRootKey(provider, key, { service, salt }, retries)
  const root: RootKey = { kind: 'key', from: provider.description, key: new Secret(key) }
  const { source, description } = provider
  return { root, salt, source: { source, description, wrapped, created_at: now } }
}

/** The value of `root_key_source` with which people hold shares of the root key. */
export const sharesSource = 'shares'

/** A database whose root key people hold in shares. */
export interface SharedRootKey {
  readonly set: ShareSet
  /** @param secret of the set @throws StartupError when it does not open this database */
  open(secret: Secret): Promise<RootKey>
}

/**
 * Reads the set of shares that opens a database.
 * @returns undefined: nothing was sealed yet
 * @throws StartupError for a database whose root key is in another source, which is named
 */
export async function findSharedRootKey(db: Database, service: string): Promise<SharedRootKey | undefined> {
  const row = await db.get(readRootKeyRow, rootKeyParameters)
  if (row === undefined) return undefined
  const rows = await listRootKeySources(db)
  const stored = rows.find(({ source }) => source === sharesSource)?.wrapped
  if (stored === undefined || stored === null)
    throw new StartupError(
      describeOtherSource(service, rows, { source: sharesSource, description: 'the shares of its holders' }),
    )
  const { set, wrapped } = decodeShareSet(stored)
  return {
    set,
    async open(secret) {
      const key = unwrapWithSet(set, secret, wrapped, toContext(service, row.salt))
      const root: RootKey = { kind: 'key', from: describeShares(set), key }
      if ((await findMatchingRootKey({ db, service, rootKeys: [root] })) !== undefined) return root
      throw new StartupError(
        `wrong root key: ${root.from} decrypt a value that does not match the check value of the ${service} database: the row of the set was changed (nothing was changed now)`,
      )
    },
  }
}

function describeShares(set: ShareSet): string {
  return `${set.threshold} of ${set.holders.length} shares of set ${describeSet(set)}`
}

/** A new random root key, encrypted for a set of shares. */
export function createSharedRootKey(
  set: ShareSet,
  service: string,
  now: number,
): { readonly root: RootKey; readonly salt: Buffer; readonly source: NewRootKeySource } {
  const [key, salt] = [randomBytes(keyBytes), randomBytes(16)]
  const description = describeShares(set)
  const wrapped = encodeShareSet({ set, wrapped: wrapForSet(set, key, toContext(service, salt)) })
  return {
    root: { kind: 'key', from: description, key: new Secret(key) },
    salt,
    source: { source: sharesSource, description, wrapped, created_at: now },
  }
}
