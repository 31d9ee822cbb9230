import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import {
  chownSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describeWriteError, StartupError } from '@warder/base'

/** The private key (Ed25519, PKCS#8) that signs the backups of an installation; no backup contains it. */
const signingKeyName = 'backup-signing.key'
/** Its public half: store a copy with that of the root key, to verify backups in a restore. */
const signingPublicName = 'backup-signing.pub'

/**
 * Reads the signing key of an installation, or creates it.
 * @throws StartupError when it cannot be read or written
 */
export function openSigningKey(home: string): KeyObject {
  const path = join(home, signingKeyName)
  if (!existsSync(path)) makeKey(home, path)
  const key = readSigningKey(path)
  const pem = createPublicKey(key).export({ type: 'spki', format: 'pem' })
  const publicPath = join(home, signingPublicName)
  if (!existsSync(publicPath) || readFileSync(publicPath, 'utf8') !== pem) {
    const fresh = `${publicPath}.${process.pid}.new`
    write(home, fresh, pem)
    renameSync(fresh, publicPath)
  }
  return key
}

/** Finds the public key of the signatures of an installation; undefined = it has made no backup. */
export function findSender(home: string): KeyObject | undefined {
  const path = join(home, signingKeyName)
  return existsSync(path) ? createPublicKey(readSigningKey(path)) : undefined
}

/** `SHA256:` and the digest of the SubjectPublicKeyInfo (RFC 5280 §4.1) in base64url. */
export function computeFingerprint(publicKey: KeyObject): string {
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return `SHA256:${createHash('sha256').update(spki).digest('base64url')}`
}

function readSigningKey(path: string): KeyObject {
  const createUnusableError = (why: string): StartupError =>
    new StartupError(
      `${path} is not a key that signs backups (Ed25519, PEM): ${why}. Move it away, and the next backup creates another`,
    )
  let key: KeyObject
  try {
    key = createPrivateKey(readFileSync(path))
  } catch (error) {
    throw createUnusableError(error instanceof Error ? error.message : String(error))
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw createUnusableError(`it holds a key of ${key.asymmetricKeyType}`)
  return key
}

/** Creates the key atomically: of two concurrent backups one creates it and both use it. */
function makeKey(home: string, path: string): void {
  const { privateKey } = generateKeyPairSync('ed25519')
  const fresh = `${path}.${process.pid}.new`
  write(home, fresh, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  try {
    linkSync(fresh, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    // The file system does not support hard links.
    if (!existsSync(path)) renameSync(fresh, path)
  } finally {
    rmSync(fresh, { force: true })
  }
}

function write(home: string, path: string, pem: string | Buffer): void {
  try {
    writeFileSync(path, pem, { mode: 0o600, flush: true })
    // Later backups may be made by the user of the service.
    const { uid, gid } = statSync(home)
    if (process.getuid?.() === 0 && uid !== 0) chownSync(path, uid, gid)
  } catch (error) {
    rmSync(path, { force: true })
    throw new StartupError(
      `${path} cannot be written, but backups must be signed with that key: ${describeWriteError(error, path)}`,
      { cause: error },
    )
  }
}
