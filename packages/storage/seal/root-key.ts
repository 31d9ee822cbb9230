import { argon2, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describeWriteError, Secret, StartupError } from '@warder/base'

/** Source of the root key. A passphrase becomes a key only with the salt in the database. */
export type RootKeySource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'passphrase'; readonly variable: string }
  /** Name of a credential that systemd decrypts for the unit (`LoadCredentialEncrypted`). */
  | { readonly kind: 'systemd'; readonly credential: string }

/** A root key candidate: 32 bytes, or a passphrase that needs a salt first. */
export type RootKey =
  | { readonly kind: 'key'; readonly from: string; readonly key: Secret }
  | { readonly kind: 'passphrase'; readonly from: string; readonly passphrase: Secret }

const header = 'warder root key v1'
const keyBytes = 32

/**
 * Reads the root key, or makes it on the first run (file source only; 0600, fsynced with its folder).
 * @returns the candidates in the order to try: the key, then the one that an interrupted rotation was changing to
 * @throws StartupError naming the source
 */
export function loadRootKeys(
  source: RootKeySource,
  env: Readonly<Record<string, string | undefined>>,
  options: { readonly create: boolean },
): readonly RootKey[] {
  if (source.kind === 'file') {
    // A move to a file that was interrupted leaves the new one alone.
    const find = (): readonly string[] =>
      [source.path, nextPath(source.path)].filter((path) => existsSync(path))
    let candidates = find()
    if (candidates.length === 0) {
      if (!options.create)
        throw new StartupError(`the root key ${source.path} does not exist; restore it from its backup`)
      writeUnlessThere(source.path)
      candidates = find()
    }
    return candidates.map((path) => ({ kind: 'key', from: path, key: readRootKey(path) }))
  }
  if (source.kind === 'systemd') return [readCredential(source.credential, env)]
  const value = env[source.variable]
  if (value === undefined || value === '') {
    throw new StartupError(`root_key_source is ${source.kind}, but ${source.variable} is not set`)
  }
  if (source.kind === 'passphrase') {
    if (value.length < 12) throw new StartupError(`${source.variable} is too short: at least 12 characters`)
    return [{ kind: 'passphrase', from: source.variable, passphrase: Secret.fromText(value) }]
  }
  return [{ kind: 'key', from: source.variable, key: decode(value, source.variable) }]
}

/** systemd sets the folder for the unit alone, on file systems that are never swapped (systemd.exec, "Credentials"). */
function readCredential(name: string, { CREDENTIALS_DIRECTORY: folder }: NodeJS.ProcessEnv): RootKey {
  const entry = `LoadCredentialEncrypted=${name}:FILE`
  if (folder === undefined || folder === '')
    throw new StartupError(
      `root_key_source is systemd, but CREDENTIALS_DIRECTORY is not set: start Warder as a unit with ${entry}`,
    )
  const path = join(folder, name)
  if (!existsSync(path))
    throw new StartupError(`systemd passed no credential ${name} (${path}): the unit needs ${entry}`)
  return { kind: 'key', from: path, key: readRootKey(path, 0o007) }
}

export function nextPath(path: string): string {
  return `${path}.next`
}

/**
 * Writes a root key file that must not exist yet; it and its folder are on disk when this returns. It appears whole:
 * another process that starts at the same moment finds all of it or nothing.
 * @throws an EEXIST error when there is one already
 */
export function writeRootKey(path: string, key: Uint8Array): void {
  const made = `${path}.${randomUUID()}`
  const file = openSync(made, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)
  try {
    writeFileSync(
      file,
      `# ${header}: store a copy elsewhere; without this key, no sealed data can be decrypted\n${Buffer.from(key).toString('base64url')}\n`,
    )
    fsyncSync(file)
    linkSync(made, path)
  } finally {
    closeSync(file)
    rmSync(made, { force: true })
  }
  syncFolder(path)
}

function writeUnlessThere(path: string): void {
  try {
    writeRootKey(path, randomBytes(keyBytes))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new StartupError(`cannot write the root key ${path}: ${describeWriteError(error, path)}`)
    }
  }
}

/** The last step of a rotation: the new key gets the name of the old one. */
export function promoteNext(path: string): void {
  renameSync(nextPath(path), path)
  syncFolder(path)
}

/** @param forbidden bits of the mode; a credential's bits of the group may be the mask of an ACL for the unit's user */
export function readRootKey(path: string, forbidden = 0o077): Secret {
  const file = openSync(path, constants.O_RDONLY)
  try {
    if (process.platform !== 'win32' && (fstatSync(file).mode & forbidden) !== 0) {
      throw new StartupError(`the root key ${path} can be read by other users: run chmod 600 on it`)
    }
    const lines = readFileSync(file, 'utf8').split('\n')
    const line = lines.find((candidate) => candidate !== '' && !candidate.startsWith('#'))
    return decode(line ?? '', path)
  } finally {
    closeSync(file)
  }
}

function decode(text: string, from: string): Secret {
  const bytes = Buffer.from(text.trim(), 'base64url')
  if (!/^[A-Za-z0-9_-]{43}$/.test(text.trim()) || bytes.length !== keyBytes) {
    throw new StartupError(`the root key in ${from} is not 32 bytes in base64url`)
  }
  return new Secret(bytes)
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), constants.O_RDONLY)
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

const argon2id = promisify(argon2)

/**
 * The key-encryption key of one service. HKDF-SHA256 (RFC 5869) separates the keys of the services; a passphrase goes
 * through argon2id (RFC 9106: 64 MiB, 3 passes, 4 lanes) with the database's salt first.
 */
export async function deriveServiceKey(root: RootKey, salt: Uint8Array, service: string): Promise<Secret> {
  const info = `warder ${service} data keys v1`
  const bytes = await toRootKeyBytes(root, salt)
  const key = new Secret(Buffer.from(hkdfSync('sha256', bytes, salt, info, keyBytes)))
  bytes.fill(0)
  return key
}

/** The 32 bytes that open a database without a passphrase. The caller wipes them. */
export async function toRootKeyBytes(root: RootKey, salt: Uint8Array): Promise<Buffer> {
  if (root.kind === 'key') return root.key.use((key) => Buffer.from(key))
  return root.passphrase.use((message) =>
    argon2id('argon2id', {
      message,
      nonce: salt,
      parallelism: 4,
      tagLength: keyBytes,
      memory: 65_536,
      passes: 3,
    }),
  )
}
