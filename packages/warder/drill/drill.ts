import { createReadStream, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readPublicCheckpointKey, verifyAudit } from '@warder/audit'
import { StartupError, systemClock } from '@warder/base'
import { readEndpoints, serviceNames, toServer } from '@warder/command-line/endpoints'
import { openClient } from '@warder/command-line/https-client'
import { openRootKeys, openSealedDatabase, rootKeySource, type ServiceLaunch } from '@warder/runtime/launch'
import { listRootKeySources, openSeal } from '@warder/storage'
import { readLogKeys } from '../audit/unlock-log.ts'
import { type Restored, restore } from '../backup/restore.ts'
import type { RequireSender } from '../backup/sender.ts'
import type { Unlock } from '../backup/wrapped-keys.ts'
import { configure } from '../installation/configuration.ts'
import { createTempEnvironment, withStartedServices } from '../installation/temp-installation.ts'
import { tryServices } from '../try/run.ts'
import { listEnteredShares } from '../unseal/ask-shares.ts'
import { restrictSettings } from './settings.ts'

const prefix = 'warder-drill-'

/** Creates a folder for one drill, with mode 0700. Removes the folders of killed drills. */
function createTempDirectory(): string {
  removeStaleDirectories()
  return mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`))
}

function removeTempDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}

function removeStaleDirectories(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = /^warder-drill-(\d+)-/.exec(name) ?? []
    if (pid === undefined || isAlive(Number(pid))) continue
    const directory = join(tmpdir(), name)
    if (statSync(directory, { throwIfNoEntry: false })?.uid === process.getuid?.())
      removeTempDirectory(directory)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export interface RestoreTestOptions {
  readonly backup: string
  readonly unlock: Unlock
  readonly requireSender: RequireSender
  /** Path of the root key, if the backup contains none. */
  readonly rootKeyFile: string | undefined
  /** Environment variables for a source that wraps the root key, and for the FIPS provider. */
  readonly ownSettings: Readonly<Record<string, string>>
  readonly env: NodeJS.ProcessEnv
  /** User who logs in; undefined = no login is tested. */
  readonly login: { readonly realm: string; readonly user: string; readonly password: string } | undefined
  /** Maximum number of keys to decrypt. */
  readonly keys: number
  /** Aborts the drill and removes its files. */
  readonly signal: AbortSignal
  say(line: string): void
}

/**
 * Restores a backup into a temporary home with its own databases, starts both services there and tests them. Does not touch
 * the running installation.
 * @throws StartupError at the first step that fails
 */
export async function testRestore(given: RestoreTestOptions): Promise<void> {
  const directory = createTempDirectory()
  const home = join(directory, 'home')
  const options = { ...given, env: createTempEnvironment(given.env) }
  const { signal, say } = options
  try {
    const restored = await restoreInto(home, options)
    say(`restored    ${restored.rows} rows and ${restored.files} files, as of ${restored.madeAt}`)
    const env = { ...options.env, ...(await createRootKeyEnvironment(home, restored, options)) }
    for (const name of serviceNames) restrictSettings(name, home)
    for (const step of [openKeys, testServices, verifyLogs]) {
      signal.throwIfAborted()
      await step(home, { ...options, env })
    }
  } finally {
    removeTempDirectory(directory)
  }
}

async function restoreInto(home: string, options: RestoreTestOptions): Promise<Restored> {
  const { backup, unlock, requireSender, env, signal } = options
  if (!existsSync(backup)) throw new StartupError(`${backup} does not exist`)
  return restore({
    source: createReadStream(backup, { signal }),
    unlock,
    requireSender,
    outsideHome: false,
    home,
    now: systemClock.now(),
    env,
    databases: { auth: 'sqlite:auth.db', kms: 'sqlite:kms.db' },
  })
}

/**
 * Uses the root key in place, so that a killed drill leaves no copy of it. Its source is that of the restored database: the
 * settings of a backup may lack it, since variables and flags are not in them.
 * @throws StartupError when there is none
 */
async function createRootKeyEnvironment(
  home: string,
  { rootKey }: Restored,
  { rootKeyFile, ownSettings, env }: RestoreTestOptions,
): Promise<NodeJS.ProcessEnv> {
  const { launch } = configure('kms', home, [], env)
  const name = (await readDatabaseSource(launch)) ?? launch.config.root_key_source
  const named = { ...ownSettings, AUTH_ROOT_KEY_SOURCE: name, KMS_ROOT_KEY_SOURCE: name }
  const source = rootKeySource(launch, name)
  if (rootKey || source.kind !== 'file') return named
  if (rootKeyFile === undefined || !existsSync(rootKeyFile)) {
    if (existsSync(source.path)) return named
    throw new StartupError('the backup contains no root key: name a copy of it with --root-key-file')
  }
  const path = resolve(rootKeyFile)
  return { ...named, AUTH_ROOT_KEY_FILE: path, KMS_ROOT_KEY_FILE: path }
}

async function readDatabaseSource(launch: ServiceLaunch): Promise<string | undefined> {
  const { db, close } = await openSealedDatabase('kms', launch)
  try {
    const [row] = await listRootKeySources(db)
    return row?.source
  } finally {
    await close()
  }
}

async function openKeys(home: string, { env, keys, say }: RestoreTestOptions): Promise<void> {
  const { launch } = configure('kms', home, [], env)
  const { db, close } = await openSealedDatabase('kms', launch)
  try {
    const rootKeys = await openRootKeys(launch, { service: 'kms', db })
    const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock }).catch(
      explainWrongRootKey,
    )
    const { tryKeys } = await import('@warder/kms')
    const { opened, wrapped, broken } = await tryKeys(db, seal, keys)
    if (broken.length > 0)
      throw new StartupError(
        `${broken.length} keys cannot be decrypted, such as ${broken[0]}: keep older backups, and check the disk of the database`,
      )
    say(`keys        ${opened} decrypted`)
    if (wrapped > 0)
      say(
        `            ${wrapped} unsealed; keys in HSMs wrap them, and are necessary to use them: none was contacted`,
      )
  } finally {
    await close()
  }
}

/** Adds the common cause of a wrong root key. */
function explainWrongRootKey(error: unknown): never {
  if (!(error instanceof StartupError) || !error.message.startsWith('wrong root key')) throw error
  throw new StartupError(
    `${error.message}. If the root key was rotated after the backup, give the old key with --root-key-file, keep it as long as the old backups, and make a new backup`,
    { cause: error },
  )
}

async function testServices(home: string, options: RestoreTestOptions): Promise<void> {
  const what = 'the services of the backup'
  const use = async (): Promise<void> => {
    await unsealServices(home, options.signal)
    await requestHealth(home, options)
  }
  await withStartedServices(home, options.env, what, use, options.signal)
}

const unsealWithinMs = 60_000
const pollMs = 100

/** Enters the shares that holders gave this drill at the services, if these are sealed, and waits until they serve. */
async function unsealServices(home: string, signal: AbortSignal): Promise<void> {
  const shares = listEnteredShares()
  if (shares.length === 0) return
  const endpoints = readEndpoints(home)
  for (const name of serviceNames) {
    const client = openClient(toServer(home, endpoints[name]))
    try {
      for (const share of shares) await client.ask('/unseal', { json: { share } })
      const until = performance.now() + unsealWithinMs
      while ((await client.ask('/health').catch(() => undefined))?.status !== 200) {
        signal.throwIfAborted()
        if (performance.now() > until)
          throw new StartupError(`${name} of the backup does not start with the shares`)
        await setTimeout(pollMs)
      }
    } finally {
      client.close()
    }
  }
}

async function requestHealth(home: string, { login, say }: RestoreTestOptions): Promise<void> {
  const endpoints = readEndpoints(home)
  let isOnHold = false
  for (const name of serviceNames) {
    const client = openClient(toServer(home, endpoints[name]))
    try {
      const path = name === 'kms' ? '/health' : '/public/version'
      const { status, text } = await client.ask(path)
      if (name === 'kms') isOnHold = /"restore":\{[^{}]*"DOWN"/.test(text)
      if (status !== 200) throw new StartupError(`${name} of the backup responds with ${status} to ${path}`)
    } finally {
      client.close()
    }
    say(`${name.padEnd(12)}started and healthy`)
  }
  if (isOnHold) say('approval    the restored kms waits for its officers: keys were decrypted, but not used')
  if (login === undefined) return
  const steps = await tryServices({
    auth: toServer(home, endpoints.auth),
    kms: toServer(home, endpoints.kms),
    realm: login.realm,
    username: login.user,
    password: login.password,
    file: undefined,
    withKeys: !isOnHold,
    out: () => undefined,
  })
  say(`login       ${login.user} logged in${isOnHold ? '' : ' and used keys'}: ${steps} steps`)
}

async function verifyLogs(home: string, { say, env }: RestoreTestOptions): Promise<void> {
  for (const name of serviceNames) {
    const folder = join(home, 'audit', name)
    const logKeys = await readLogKeys(folder, { home, env })
    const key = readPublicCheckpointKey(folder)
    const keys = key === undefined ? [] : [key]
    const verdict = await verifyAudit(folder, { thorough: true, keys, logKeys })
    if (!verdict.ok)
      throw new StartupError(
        `the audit chain of ${name} is broken: ${verdict.firstBroken?.reason ?? `${verdict.unread.join(', ')} cannot be decrypted`}`,
      )
  }
  say('chain       intact')
}
