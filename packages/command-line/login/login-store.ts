import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '@warder/base'
import { findKeyring, type Keyring } from './keyring.ts'
import { isPrivateFolder, readPrivateFile, removePrivateFile, writePrivateFile } from './private-file.ts'
import {
  hashServices,
  isSameService,
  type LoginFacts,
  type LoginKind,
  type LoginServices,
  type ServiceId,
  type StoredLogin,
} from './stored-login.ts'

/** Folder in the home with a file for each stored login. */
const getLoginsFolder = (home: string): string => join(home, 'logins')
const maxFileBytes = 64 * 1024
/** Bounds the number of services per home. */
const maxLogins = 64

type Env = Readonly<Record<string, string | undefined>>

/** A stored login, whose token is read on demand. */
export interface FoundLogin {
  readonly path: string
  readonly facts: LoginFacts
  /** Describes the storage of the token. */
  readonly kept: string
  /** @throws StartupError when the keyring does not return the key */
  token(): Promise<string>
}

/** A token encrypted with a key in the keyring (AES-256-GCM; the rest of the file is additional data). */
interface Sealed {
  readonly iv: string
  readonly ciphertext: string
}

interface Content {
  readonly version: 1
  readonly facts: LoginFacts
  readonly account?: string
  readonly sealed?: Sealed
  readonly token?: string
}

/**
 * Stores a login in place of the previous one for the same services. The token is encrypted with a key in the keyring; if
 * there is none, or it does not work, the file contains the token itself.
 * @returns a description of the storage
 * @throws StartupError when it cannot be written
 */
export async function storeLogin(
  home: string,
  { token, ...facts }: StoredLogin,
  keyring: Keyring | undefined,
): Promise<string> {
  const path = join(getLoginsFolder(home), `${hashServices(facts.places)}.json`)
  const before = readContent(path)
  const sealedBy = keyring === undefined ? undefined : await createKeyringKey(keyring)
  const content: Content =
    sealedBy === undefined
      ? { version: 1, facts, token }
      : { version: 1, facts, account: sealedBy.account, sealed: seal(token, sealedBy.key, facts) }
  writePrivateFile(path, `${JSON.stringify(content, undefined, 2)}\n`)
  if (before?.account !== undefined) await keyring?.remove(before.account)
  return sealedBy === undefined ? describeFile(path) : `${path}, sealed by ${keyring?.name}`
}

const describeFile = (path: string): string => `${path}, which only you can read (mode 0600)`

/** Creates a separate key for each login. */
async function createKeyringKey(
  keyring: Keyring,
): Promise<{ readonly account: string; readonly key: Buffer } | undefined> {
  const account = `login-${randomBytes(12).toString('hex')}`
  const key = randomBytes(32)
  const text = key.toString('hex')
  if ((await keyring.put(account, text)) && (await keyring.get(account)) === text) return { account, key }
  return undefined
}

/**
 * Finds the stored login for these services.
 * @param places `kms` undefined: only the authentication service must match; `auth` undefined: not known, only the key
 *   management service must match
 * @throws StartupError for a file that cannot be trusted
 */
export function findLogin(
  home: string,
  places: { readonly auth: ServiceId | undefined; readonly kms: ServiceId | undefined },
  env: Env,
): FoundLogin | undefined {
  const folder = getLoginsFolder(home)
  if (!isPrivateFolder(folder)) return undefined
  const files = readdirSync(folder).filter((name) => /^[0-9a-f]{32}\.json$/.test(name))
  if (files.length > maxLogins)
    throw new StartupError(`${folder} contains more than ${maxLogins} logins: remove the unused ones`)
  const found = files.flatMap((name) => {
    const path = join(folder, name)
    const content = readContent(path)
    return content !== undefined && isFor(content.facts.places, places) ? [{ path, content }] : []
  })
  const [only, another] = found
  // With two matches the choice would be a guess; --auth-url resolves it.
  if (only === undefined || another !== undefined) return undefined
  const { path, content } = only
  return {
    path,
    facts: content.facts,
    kept: content.sealed === undefined ? describeFile(path) : `${path}, sealed by the keyring of this system`,
    token: () => decryptToken(path, content, env),
  }
}

function isFor(
  kept: LoginServices,
  asked: { readonly auth: ServiceId | undefined; readonly kms: ServiceId | undefined },
): boolean {
  if (asked.kms !== undefined && !isSameService(kept.kms, asked.kms)) return false
  if (asked.auth !== undefined && kept.auth !== undefined) return isSameService(kept.auth, asked.auth)
  return asked.kms !== undefined
}

async function decryptToken(path: string, content: Content, env: Env): Promise<string> {
  const { token, sealed, account, facts } = content
  if (token !== undefined) return token
  const key = account === undefined ? undefined : await findKeyring(env)?.get(account)
  const opened =
    key === undefined || sealed === undefined ? undefined : open(sealed, Buffer.from(key, 'hex'), facts)
  if (opened !== undefined) return opened
  throw new StartupError(
    `the keyring of this system does not return the key of ${path}: unlock it, or log in again (warder login)`,
  )
}

/** Forgets a login on this machine. @throws StartupError when its file is still there */
export async function forgetLogin(login: FoundLogin, env: Env): Promise<void> {
  const account = readContent(login.path)?.account
  removePrivateFile(login.path)
  if (account !== undefined) await findKeyring(env)?.remove(account)
}

function readContent(path: string): Content | undefined {
  if (!existsSync(path)) return undefined
  const text = readPrivateFile(path, maxFileBytes)
  if (text === undefined) return undefined
  const content = parseContent(text)
  if (content === undefined)
    throw new StartupError(`${path} is not a file of warder login: remove it and log in again`)
  return content
}

function parseContent(text: string): Content | undefined {
  try {
    const content = JSON.parse(text) as Content
    const { facts, token, sealed, account } = content
    const kinds: readonly LoginKind[] = ['session', 'app', 'token']
    const whole =
      content.version === 1 &&
      kinds.includes(facts.kind) &&
      typeof facts.username === 'string' &&
      typeof facts.places.kms.url === 'string' &&
      (typeof token === 'string' || (typeof sealed?.ciphertext === 'string' && typeof account === 'string'))
    return whole ? content : undefined
  } catch {
    return undefined
  }
}

function seal(token: string, key: Buffer, facts: LoginFacts): Sealed {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(buildContext(facts))
  const ciphertext = Buffer.concat([cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()])
  key.fill(0)
  return { iv: iv.toString('base64url'), ciphertext: ciphertext.toString('base64url') }
}

function open({ iv, ciphertext }: Sealed, key: Buffer, facts: LoginFacts): string | undefined {
  const bytes = Buffer.from(ciphertext, 'base64url')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
    decipher.setAAD(buildContext(facts))
    decipher.setAuthTag(bytes.subarray(-16))
    return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  } finally {
    key.fill(0)
  }
}

/** Without optional members, so that the text is the same before and after storage. */
function buildContext(facts: LoginFacts): Buffer {
  return Buffer.from(
    `warder login v1\n${hashServices(facts.places)}\n${facts.kind}\n${facts.username}`,
    'utf8',
  )
}
