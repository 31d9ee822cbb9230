import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Seal, SealContext } from '@warder/storage'
import type { LogKey, LogKeys } from './encrypted-bytes.ts'
import { copyOnce, replaceFile } from './segments.ts'

/** `encryption-ID.key`: a sealed key of 32 bytes. The oldest one that can be opened is in use. */
const pattern = /^encryption-([0-9a-f]{32})\.key$/

const toSealContext = (id: string): SealContext => ({
  table: 'audit_log',
  row: `encryption-${id}`,
  column: 'key',
})

/** Opens the keys of a log, as far as the seal can open them. */
export async function openLogKeys(folder: string, seal: Pick<Seal, 'open'>): Promise<LogKeys> {
  const keys = new Map<string, KeyObject>()
  for (const name of listKeyFiles(folder)) {
    const id = pattern.exec(name)?.[1] ?? ''
    const key = await openLogKey(seal, id, readFileSync(join(folder, name)))
    if (key !== undefined) keys.set(id, key)
  }
  return keys
}

/** The key that encrypts new files; generated when no key of the folder can be opened. */
export function ensureLogKey(folder: string, seal: Seal, keys: LogKeys): LogKey {
  const [known] = keys
  if (known !== undefined) return { id: known[0], key: known[1] }
  const id = randomBytes(16).toString('hex')
  const bytes = randomBytes(32)
  replaceFile(join(folder, `encryption-${id}.key`), seal.seal(toSealContext(id), bytes))
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return { id, key }
}

/** Copies the sealed keys beside files that are stored elsewhere. */
export function copyLogKeys(folder: string, to: string): void {
  for (const name of listKeyFiles(folder)) copyOnce(join(folder, name), join(to, name))
}

function listKeyFiles(folder: string): readonly string[] {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => pattern.test(name))
        .sort()
    : []
}

async function openLogKey(
  seal: Pick<Seal, 'open'>,
  id: string,
  sealed: Uint8Array,
): Promise<KeyObject | undefined> {
  try {
    const bytes = Buffer.from(await seal.open(toSealContext(id), sealed))
    const key = createSecretKey(bytes)
    bytes.fill(0)
    return key
  } catch {
    return undefined
  }
}

const indexKeyName = 'index.key'
const indexContext: SealContext = { table: 'audit_log', row: 'index', column: 'key' }

/** The key of the index of a log; undefined = there is none, or the seal does not open it. */
export async function openIndexKey(folder: string, seal: Pick<Seal, 'open'>): Promise<KeyObject | undefined> {
  const path = join(folder, indexKeyName)
  if (!existsSync(path)) return undefined
  try {
    return toKey(await seal.open(indexContext, readFileSync(path)))
  } catch {
    return undefined
  }
}

/** The same, generated when there is none that can be opened: the index is made again then. */
export async function ensureIndexKey(folder: string, seal: Seal): Promise<KeyObject> {
  const known = await openIndexKey(folder, seal)
  if (known !== undefined) return known
  const bytes = randomBytes(32)
  replaceFile(join(folder, indexKeyName), seal.seal(indexContext, bytes))
  return toKey(bytes)
}

/** Clears the bytes. */
function toKey(opened: Uint8Array): KeyObject {
  const bytes = Buffer.from(opened)
  const key = createSecretKey(bytes)
  bytes.fill(0)
  opened.fill(0)
  return key
}
