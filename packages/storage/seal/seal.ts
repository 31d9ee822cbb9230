import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { type Clock, StartupError } from '@warder/base'
import { UniqueViolation } from '../sql/errors.ts'
import type { Change, Database } from '../sql/types.ts'
import { openDataKeys, toDataKeyContext } from './data-keys.ts'
import {
  encodeContext,
  makeCheckValue,
  noId,
  opensCheckValue,
  openWith,
  readDataKeyId,
  type Seal,
  sealWith,
  UnknownDataKey,
} from './envelope.ts'
import { deriveServiceKey, type RootKey } from './root-key.ts'
import {
  addDataKey,
  addRootKey,
  listRootKeySources,
  readDataKeys,
  readRootKeyRow,
  rootKeyParameters,
} from './seal-store.ts'

interface OpenSealOptions {
  readonly db: Database
  /** Tried in order; the first whose check value matches is the one. */
  readonly rootKeys: readonly RootKey[]
  /** Keeps the services' keys apart. */
  readonly service: string
  readonly clock: Clock
  /** Values that one data key seals before the next one is made; see `openDataKeys`. */
  readonly sealsPerKey?: number
}

const keyBytes = 32

/** The root key of the database, and the service key derived from it. */
interface MatchingRootKey {
  readonly root: RootKey
  readonly key: KeyObject
  readonly version: number
}

/** Whether nothing was sealed in this database yet (its first run). */
export async function isUnsealed(db: Database): Promise<boolean> {
  return (await db.get(readRootKeyRow, rootKeyParameters)) === undefined
}

/** Finds which of the root keys the database was sealed with; undefined when none fits. */
export async function findMatchingRootKey(
  options: Pick<OpenSealOptions, 'db' | 'rootKeys' | 'service'>,
): Promise<MatchingRootKey | 'empty' | undefined> {
  const row = await options.db.get(readRootKeyRow, rootKeyParameters)
  if (row === undefined) return 'empty'
  for (const root of options.rootKeys) {
    const key = await createServiceKey(root, row.salt, options.service)
    if (opensCheckValue(key, options.service, row.check_value)) return { root, key, version: row.version }
  }
  return undefined
}

/** The check value and the wrapping of data keys under a root key, for the first run and for rotation. */
export async function wrapUnder(root: RootKey, salt: Uint8Array, service: string) {
  const key = await createServiceKey(root, salt, service)
  return {
    key,
    checkValue: makeCheckValue(key, service),
    wrap: (id: string, dataKey: Uint8Array) =>
      sealWith(key, noId, encodeContext(service, toDataKeyContext(id)), dataKey),
  }
}

async function createServiceKey(root: RootKey, salt: Uint8Array, service: string): Promise<KeyObject> {
  const secret = await deriveServiceKey(root, salt, service)
  const key = secret.use((bytes) => createSecretKey(bytes))
  secret.wipe()
  return key
}

/**
 * Opens the envelope encryption of a service's database; on an empty database makes the check value and the first
 * data key in one commit. Nothing is written when the root key is wrong.
 * @throws StartupError naming the source of a root key that does not fit
 */
export async function openSeal(options: OpenSealOptions): Promise<Seal> {
  let matching = await findMatchingRootKey(options)
  if (matching === 'empty') {
    await firstRun(options)
    matching = await findMatchingRootKey(options)
  }
  if (matching === undefined || matching === 'empty') {
    throw await createWrongRootKeyError(options)
  }
  return createSeal(options, matching)
}

/** The refusal of root keys that do not fit a database; it names the source to which the root key was moved. */
export async function createWrongRootKeyError({
  db,
  rootKeys,
  service,
}: Pick<OpenSealOptions, 'db' | 'rootKeys' | 'service'>): Promise<StartupError> {
  const sources = rootKeys.map(({ from }) => from)
  const moved = await describeMove(db, service, sources)
  return new StartupError(
    `wrong root key: ${sources.join(', ')} is not the one that the ${service} database was sealed with; ` +
      `${moved ?? 'restore the right one'} (nothing was changed)`,
  )
}

/**
 * Names the source to which the root key of a database was moved.
 * @param known descriptions of sources in use @returns undefined: it was not moved, or to one of these
 */
export async function describeMove(
  db: Database,
  service: string,
  known: readonly string[] = [],
): Promise<string | undefined> {
  const [row] = await listRootKeySources(db)
  if (row === undefined || known.includes(row.description)) return undefined
  const at = new Date(row.created_at).toISOString()
  return `the root key of the ${service} database was moved to ${row.source} (${row.description}) at ${at}: set root_key_source = "${row.source}"`
}

async function firstRun(options: OpenSealOptions): Promise<void> {
  const [root] = options.rootKeys
  if (root === undefined) throw new StartupError('there is no root key')
  await commitFirstKeys(root, { ...options, salt: randomBytes(16) })
}

/** The first commit under a root key: its check value, and the first data key. */
export async function commitFirstKeys(
  root: RootKey,
  options: Pick<OpenSealOptions, 'db' | 'service' | 'clock'> & { readonly salt: Uint8Array },
  ...changes: readonly Change[]
): Promise<void> {
  const { salt, service, clock, db } = options
  const { checkValue, wrap } = await wrapUnder(root, salt, service)
  const id = randomBytes(16).toString('hex')
  const dataKey = randomBytes(keyBytes)
  const now = clock.now()
  try {
    await db.commit([addRootKey(salt, checkValue, now), addDataKey(id, wrap(id, dataKey), now), ...changes])
  } catch (error) {
    // Another process had its first run at the same moment: its result is read instead.
    if (!(error instanceof UniqueViolation)) throw error
  } finally {
    dataKey.fill(0)
  }
}

async function createSeal(options: OpenSealOptions, matching: MatchingRootKey): Promise<Seal> {
  const { service } = options
  const keys = await openDataKeys({ ...options, wrapping: matching.key, version: matching.version })
  return {
    seal(context, bytes) {
      const { id, key } = keys.forSealing()
      return sealWith(key, id, encodeContext(service, context), bytes)
    },
    async open(context, sealed) {
      const id = readDataKeyId(sealed)
      if (id === undefined)
        throw new Error(`the value of ${context.table}.${context.column} was not sealed by Warder`)
      const aad = encodeContext(service, context)
      const key = keys.get(id) ?? (await keys.find(id))
      if (key === undefined)
        throw new UnknownDataKey(`the data key of ${context.table}.${context.column} is not known`)
      return openWith(key, aad, sealed)
    },
  }
}

interface SealToReadOptions {
  readonly db: Database
  readonly rootKeys: readonly RootKey[]
  readonly service: string
}

/**
 * Opens sealed data without writing: for a command beside a running service, and for a start before it has
 * recognized its database.
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
