import type { KeyObject } from 'node:crypto'
import { randomUUID } from 'node:crypto'
import { Secret, StartupError } from '@warder/base'
import { GuardFailed } from '../sql/errors.ts'
import type { Change, Database } from '../sql/types.ts'
import { encodeContext, noId, openWith, type Seal, sealWith } from './envelope.ts'
import { type RootKey, toRootKeyBytes } from './root-key.ts'
import type { SharedRootKey } from './root-key-sources.ts'
import { createWrongRootKeyError, findMatchingRootKey } from './seal.ts'
import {
  addRecord,
  findRecoveryRow,
  guardRootKey,
  listRecordRows,
  readRootKeyRow,
  replaceRecovery,
  rootKeyParameters,
} from './seal-store.ts'
import { decodeShareSet, describeSet, encodeShareSet, type ShareSet } from './share-set.ts'
import { unwrapWithSet, wrapForSet } from './share-set-wrap.ts'

// A set of shares beside the source of the root key: the same root key, encrypted with the public key of the set. Each
// change of the root key encrypts the new root key in the same commit, which needs no shares.

interface RecoveryKey {
  readonly root: RootKey
  /** The service key of `root`. */
  readonly key: KeyObject
  readonly salt: Uint8Array
}

/** Encodes the row of a set for a root key. */
async function encodeRecovery(
  set: ShareSet,
  service: string,
  { root, key, salt }: RecoveryKey,
): Promise<Buffer> {
  const bytes = await toRootKeyBytes(root, salt)
  const wrapped = wrapForSet(set, bytes, toContext(service, salt))
  bytes.fill(0)
  // This prevents that a user who can write the database chooses the public key with which the next root key is
  // encrypted.
  const tag = sealWith(key, noId, toTagContext(service, set), Buffer.alloc(0))
  return encodeShareSet({ set, wrapped: Buffer.concat([tag, wrapped]) })
}

function toContext(service: string, salt: Uint8Array): Buffer {
  const row = Buffer.from(salt).toString('hex')
  return encodeContext(service, { table: 'root_key_recovery', row, column: 'wrapped' })
}

function toTagContext(service: string, set: ShareSet): Buffer {
  return encodeContext(service, { table: 'root_key_recovery', row: JSON.stringify(set), column: 'set' })
}

/** Length of a value of `sealWith` without content: version, id, IV and tag. */
const tagBytes = 1 + 16 + 12 + 16

interface ReadRecovery {
  readonly set: ShareSet
  readonly tag: Buffer
  readonly wrapped: Buffer
}

async function readRecovery(db: Database): Promise<ReadRecovery | undefined> {
  const row = await findRecoveryRow(db)
  if (row === undefined) return undefined
  const { set, wrapped } = decodeShareSet(row)
  return { set, tag: wrapped.subarray(0, tagBytes), wrapped: wrapped.subarray(tagBytes) }
}

/** The recovery set of a database, without its secrets; undefined: there is none. @throws StartupError */
export async function findRecoverySet(db: Database): Promise<ShareSet | undefined> {
  return (await readRecovery(db))?.set
}

/**
 * The changes that keep the recovery set of a database when its root key changes; empty if there is no set.
 * @param before the present root key of the database @throws StartupError for a set that was not written under it
 */
export async function renewRecovery(
  db: Database,
  service: string,
  before: KeyObject,
  fresh: RecoveryKey,
): Promise<readonly Change[]> {
  const found = await readRecovery(db)
  if (found === undefined) return []
  try {
    openWith(before, toTagContext(service, found.set), found.tag)
  } catch (error) {
    throw new StartupError(
      `the recovery set ${describeSet(found.set)} of the ${service} database was not written under its root key, so the new one is not encrypted for it: make another set first, with warder root-key recovery create`,
      { cause: error },
    )
  }
  return replaceRecovery(await encodeRecovery(found.set, service, fresh))
}

/**
 * Replaces the recovery set of a database, or creates the first one.
 * @param record joins the commit @throws StartupError for a wrong root key
 */
export async function createRecovery(
  set: ShareSet,
  {
    db,
    service,
    rootKeys,
  }: { readonly db: Database; readonly service: string; readonly rootKeys: readonly RootKey[] },
  record: readonly Change[],
): Promise<void> {
  const row = await db.get(readRootKeyRow, rootKeyParameters)
  const matching = await findMatchingRootKey({ db, service, rootKeys })
  if (row === undefined || matching === 'empty') return
  if (matching === undefined) throw await createWrongRootKeyError({ db, service, rootKeys })
  const { root, key, version } = matching
  const wrapped = await encodeRecovery(set, service, { root, key, salt: row.salt })
  try {
    await db.commit([guardRootKey(version), ...replaceRecovery(wrapped), ...record])
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    throw new StartupError(
      `the root key of the ${service} database changed meanwhile: run the command again`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Decrypts the root key of a database with the secret of its recovery set. @throws StartupError where there is no set
 */
export async function findRecoverableKey(db: Database, service: string): Promise<SharedRootKey> {
  const row = await db.get(readRootKeyRow, rootKeyParameters)
  const found = await readRecovery(db)
  if (row === undefined || found === undefined)
    throw new StartupError(
      `the ${service} database has no recovery set: only the source of its root key opens it (warder root-key show)`,
    )
  const { set, wrapped } = found
  return {
    set,
    async open(secret) {
      const key = unwrapWithSet(set, secret, wrapped, toContext(service, row.salt))
      const root: RootKey = {
        kind: 'key',
        from: `recovery set ${describeSet(set)}`,
        key: new Secret(key.use((bytes) => Buffer.from(bytes))),
      }
      if ((await findMatchingRootKey({ db, service, rootKeys: [root] })) !== undefined) return root
      throw new StartupError(`the recovery set ${describeSet(set)} does not open the ${service} database`)
    },
  }
}

/** An event of the root key, which a command commits and the service writes to the audit log. */
export interface RootKeyRecord {
  readonly id: string
  /** `root_key.recovered`. */
  readonly operation: string
  /** Unix milliseconds. */
  readonly at: number
  readonly details: Readonly<Record<string, unknown>>
}

export function createRootKeyRecord(seal: Pick<Seal, 'seal'>, record: Omit<RootKeyRecord, 'id'>): Change {
  const id = randomUUID()
  return addRecord(id, seal.seal(toRecordContext(id), Buffer.from(JSON.stringify({ ...record, id }))))
}

/** Records that the audit log does not have yet, the oldest first. @throws for one that was not sealed with the root key */
export async function listRootKeyRecords(
  db: Database,
  seal: Pick<Seal, 'open'>,
): Promise<readonly RootKeyRecord[]> {
  const rows = await listRecordRows(db)
  const records = await Promise.all(
    rows.map(async ({ id, record }) => {
      const text = Buffer.from(await seal.open(toRecordContext(id), record)).toString('utf8')
      return JSON.parse(text) as RootKeyRecord
    }),
  )
  return records.sort((one, other) => one.at - other.at)
}

function toRecordContext(id: string) {
  return { table: 'root_key_record', row: id, column: 'record' }
}
