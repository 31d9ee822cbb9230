import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { StartupError } from '@warder/base'
import { readPrivateFile, removePrivateFile, writePrivateFile } from '../login/private-file.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Addresses of services that `warder login --url` has remembered. */
export interface Context {
  /** Address of the key management service. */
  readonly url: string
  /** Address of the authentication service, if it is known. */
  readonly authUrl: string | undefined
  /** SHA-256 of the PEM file of their certificate authority; undefined: those of the system. */
  readonly ca: string | undefined
}

export interface Contexts {
  /** Folder of the user's configuration. */
  readonly folder: string
  /** The context that commands use; undefined: the home of the current folder. */
  readonly current: string | undefined
  readonly contexts: ReadonlyMap<string, Context>
}

/** Selects no context, but the home of the current folder. */
export const localName = 'local'

const maxContexts = 64
const maxFileBytes = 64 * 1024
const maxAuthorityBytes = 1024 * 1024
const contextName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Origins in ASCII, without user, path and control characters. */
const serviceUrl = /^https:\/\/[A-Za-z0-9._~:[\]%-]{1,512}\/?$/

/**
 * Finds the folder of the user's configuration (XDG Base Directory Specification 0.8: a relative path is ignored).
 * @returns undefined for a user without a home folder
 */
export function findConfigFolder(env: Env): string | undefined {
  const [xdg = '', home = ''] = [env.XDG_CONFIG_HOME, env.HOME ?? env.USERPROFILE]
  if (isAbsolute(xdg)) return join(xdg, 'warder')
  return isAbsolute(home) ? join(home, '.config', 'warder') : undefined
}

export function isContextName(name: string): boolean {
  return contextName.test(name) && name !== localName
}

const getContextsFile = (folder: string): string => join(folder, 'contexts.json')
const getAuthorityFile = (folder: string, ca: string): string => join(folder, 'authorities', `${ca}.pem`)

/**
 * Reads the contexts of this user.
 * @returns undefined for a user without a home folder
 * @throws StartupError for a file that cannot be trusted, as for files of logins
 */
export function readContexts(env: Env): Contexts | undefined {
  const folder = findConfigFolder(env)
  if (folder === undefined) return undefined
  const path = getContextsFile(folder)
  const text = readPrivateFile(path, maxFileBytes)
  if (text === undefined) return { folder, current: undefined, contexts: new Map() }
  const found = parseContexts(text)
  if (found === undefined)
    throw new StartupError(`${path} is not a file of warder context: remove it and log in again`)
  return { folder, ...found }
}

function parseContexts(text: string): Pick<Contexts, 'current' | 'contexts'> | undefined {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  const { version, current = null, contexts } = (json ?? {}) as Readonly<Record<string, unknown>>
  if (version !== 1 || typeof contexts !== 'object' || contexts === null) return undefined
  const entries = Object.entries(contexts as Readonly<Record<string, unknown>>)
  if (entries.length > maxContexts) return undefined
  const read = new Map<string, Context>()
  for (const [name, value] of entries) {
    const context = parseContext(value)
    if (context === undefined || !isContextName(name)) return undefined
    read.set(name, context)
  }
  if (current === null) return { current: undefined, contexts: read }
  return typeof current === 'string' && read.has(current) ? { current, contexts: read } : undefined
}

function parseContext(value: unknown): Context | undefined {
  const { url, auth_url: authUrl, ca } = (value ?? {}) as Readonly<Record<string, unknown>>
  const isUrl = (text: unknown): text is string => typeof text === 'string' && serviceUrl.test(text)
  if (!isUrl(url) || !(authUrl === undefined || isUrl(authUrl))) return undefined
  if (ca === undefined) return { url, authUrl, ca }
  return typeof ca === 'string' && /^[0-9a-f]{64}$/.test(ca) ? { url, authUrl, ca } : undefined
}

/** Writes the contexts as one file, then removes authorities that none of them names. @throws StartupError */
function writeContexts({ folder, current, contexts }: Contexts): void {
  const entries = [...contexts].map(([name, { url, authUrl, ca }]) => [name, { url, auth_url: authUrl, ca }])
  const json = { version: 1, current: current ?? null, contexts: Object.fromEntries(entries) }
  writePrivateFile(getContextsFile(folder), `${JSON.stringify(json, undefined, 2)}\n`)
  const authorities = join(folder, 'authorities')
  const used = new Set([...contexts.values()].map(({ ca }) => `${ca}.pem`))
  for (const name of existsSync(authorities) ? readdirSync(authorities) : [])
    if (/^[0-9a-f]{64}\.pem$/.test(name) && !used.has(name)) removePrivateFile(join(authorities, name))
}

/**
 * Finds the file with the authority of a context.
 * @returns undefined: the authorities of the system
 * @throws StartupError when the file is missing, cannot be trusted, or has another content
 */
export function findAuthority({ folder }: Contexts, { ca }: Context): string | undefined {
  if (ca === undefined) return undefined
  const path = getAuthorityFile(folder, ca)
  const pem = readPrivateFile(path, maxAuthorityBytes)
  if (pem !== undefined && hash(pem) === ca) return path
  const problem = pem === undefined ? 'does not exist' : 'is not the one that was remembered'
  throw new StartupError(`${path} ${problem}: log in again with warder login --url, or give --ca-file`)
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Services to remember. */
export interface NewContext {
  /** undefined: the host of `url`, or host and port if that name is taken. */
  readonly name: string | undefined
  readonly url: string
  readonly authUrl: string | undefined
  readonly caFile: string | undefined
}

/**
 * Prepares a context for services before the login.
 * @returns the name, and a function that stores the context and makes it the current one; undefined for a user without
 * a
 * home folder
 * @throws StartupError when they cannot be remembered
 */
export function prepareContext(
  env: Env,
  { name: named, url, authUrl, caFile }: NewContext,
): { readonly name: string; store(): void } | undefined {
  const before = readContexts(env)
  if (before === undefined) return undefined
  const pem = caFile === undefined ? undefined : readFileSync(caFile, 'utf8')
  if (pem !== undefined && Buffer.byteLength(pem) > maxAuthorityBytes)
    throw new StartupError(`${caFile} is larger than ${maxAuthorityBytes} bytes`)
  const context: Context = { url, authUrl, ca: pem === undefined ? undefined : hash(pem) }
  if (parseContext({ url, auth_url: authUrl }) === undefined)
    throw new StartupError(
      `the addresses ${url} and ${authUrl} cannot be remembered: use host names in ASCII`,
    )
  const name = named ?? chooseName(before, url)
  if (!before.contexts.has(name) && before.contexts.size >= maxContexts)
    throw new StartupError(`there are ${maxContexts} contexts already: delete one with warder context delete`)
  return {
    name,
    store() {
      const { folder, contexts } = readContexts(env) ?? before
      if (pem !== undefined && context.ca !== undefined)
        writePrivateFile(getAuthorityFile(folder, context.ca), pem)
      writeContexts({ folder, current: name, contexts: new Map([...contexts, [name, context]]) })
    },
  }
}

/** The context with this address, else a free name. @throws StartupError when there is none */
function chooseName({ contexts }: Contexts, url: string): string {
  const { origin, hostname, port } = new URL(url)
  const same = [...contexts].find(([, context]) => new URL(context.url).origin === origin)
  if (same !== undefined) return same[0]
  const host = hostname
    .replaceAll(/[^A-Za-z0-9.-]/g, '-')
    .replace(/^-+/, '')
    .slice(0, 56)
  const names = [host, `${host}-${port || 443}`]
  const name = names.find((each) => isContextName(each) && !contexts.has(each))
  if (name !== undefined) return name
  throw new StartupError(`the names ${names.join(' and ')} are taken: give --context NAME`)
}

/** Makes a context the current one. @param name undefined: none @throws StartupError */
export function selectContext(before: Contexts, name: string | undefined): void {
  writeContexts({ ...before, current: name })
}

/** Deletes a context; if it was the current one, there is none then. @throws StartupError */
export function deleteContext({ folder, current, contexts }: Contexts, name: string): void {
  const left = new Map([...contexts].filter(([each]) => each !== name))
  writeContexts({ folder, current: current === name ? undefined : current, contexts: left })
}
