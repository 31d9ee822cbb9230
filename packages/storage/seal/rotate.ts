import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { StartupError, takeLock } from '@warder/base'
import type { Database } from '../sql/types.ts'
import { toDataKeyContext } from './data-keys.ts'
import { encodeContext, openWith } from './envelope.ts'
import { loadRootKeys, nextPath, promoteNext, type RootKey, readRootKey, writeRootKey } from './root-key.ts'
import { findMatchingRootKey, wrapUnder } from './seal.ts'
import { readDataKeys, replaceRootKey, rewrapDataKey } from './seal-store.ts'

export interface SealedDatabase {
  readonly service: string
  readonly db: Database
}

export interface RotateOptions {
  readonly databases: readonly SealedDatabase[]
  /** Called after each step with its name; a test stops there. */
  readonly onStep?: (step: string) => Promise<void>
}

/**
 * Changes the root key of a file without touching a row of data: writes `root.key.next`, wraps each database's data
 * keys under it (one commit a database), then gives it the old one's name. Stopped at any moment, every database
 * opens with one of the two files, and running it again finishes the work.
 * @throws StartupError when the file is not there, or others can read it; nothing is written then
 */
export async function rotateRootKeyFile(path: string, options: RotateOptions): Promise<void> {
  const step = options.onStep ?? (async () => undefined)
  const unlock = takeLock(
    `${path}.lock`,
    (pid) => `the root key is being rotated by process ${pid}: wait for it`,
  )
  try {
    // First, so that a rotation without it leaves no new key that a later one would take for its own.
    const old = requireRootKeyFile(path)
    const next = nextPath(path)
    if (!existsSync(next)) {
      writeRootKey(next, randomBytes(32))
      await step('next written')
    }
    const fresh: RootKey = { kind: 'key', from: next, key: readRootKey(next) }
    for (const database of options.databases) {
      await rewrap(database, old, fresh)
      await step(`${database.service} wrapped`)
    }
    promoteNext(path)
    await step('promoted')
  } finally {
    unlock()
  }
}

/** The key of a file that must be there. @throws StartupError, worded as for a start */
export function requireRootKeyFile(path: string): RootKey {
  const [key] = loadRootKeys({ kind: 'file', path }, {}, { create: false })
  if (key === undefined) throw new StartupError('there is no root key')
  return key
}

/**
 * For root keys that are not files: the old and the new one are given. When started again, it completes an
 * interrupted rotation.
 */
export async function rotateRootKey(old: RootKey, fresh: RootKey, options: RotateOptions): Promise<void> {
  for (const database of options.databases) {
    await rewrap(database, old, fresh)
    await options.onStep?.(`${database.service} wrapped`)
  }
}

async function rewrap({ db, service }: SealedDatabase, old: RootKey, fresh: RootKey): Promise<void> {
  const matching = await findMatchingRootKey({ db, service, rootKeys: [fresh, old] })
  if (matching === 'empty') return
  if (matching === undefined) {
    throw new StartupError(
      `wrong root key: ${old.from} is not the one that the ${service} database was sealed with`,
    )
  }
  if (matching.root === fresh) return
  const salt = randomBytes(16)
  const { checkValue, wrap } = await wrapUnder(fresh, salt, service)
  const changes = [replaceRootKey(salt, checkValue, matching.version)]
  for (const row of await db.all(readDataKeys, [])) {
    const dataKey = openWith(matching.key, encodeContext(service, toDataKeyContext(row.id)), row.wrapped)
    changes.push(rewrapDataKey(row.id, wrap(row.id, dataKey), row.version))
    dataKey.fill(0)
  }
  await db.commit(changes)
}
