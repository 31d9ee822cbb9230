import { existsSync } from 'node:fs'
import { inHome, StartupError, systemClock } from '@warder/base'
import { homeVerb, requireNoNames, type Terminal, verbCommand } from '@warder/command-line'
import { serviceNames } from '@warder/command-line/endpoints'
import { openSealedDatabase, rootKeySource } from '@warder/runtime/launch'
import {
  isUnsealed,
  loadRootKeys,
  openSeal,
  type RootKey,
  type RootKeySource,
  type RotateOptions,
  requireRootKeyFile,
  rotateRootKey,
  rotateRootKeyFile,
  type SealedDatabase,
} from '@warder/storage'
import { configure } from '../installation/configuration.ts'

const rotateVerb = homeVerb({
  name: 'rotate',
  words: '',
  summary: 'Create a new root key and rewrap the data keys of both services',
  examples: ['warder root-key rotate --home /var/lib/warder'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return ({ home, terminal }) => {
      if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
      return rotate(home, terminal)
    }
  },
})

export const rootKey = verbCommand({
  name: 'root-key',
  summary: 'Rotate the root key of the installation without touching stored rows',
  about: `Does not change stored rows, and the services may keep running. After an interruption everything stays readable; run the
command again to finish.

  file          replaces root.key with a new key; make a new copy of it afterwards
  environment   the new key is WARDER_ROOT_KEY_NEW (32 bytes in base64url), the old one WARDER_ROOT_KEY
  passphrase    the new one is WARDER_ROOT_KEY_PASSPHRASE_NEW, the old one WARDER_ROOT_KEY_PASSPHRASE
  systemd       the new one is the credential root.key.new, the old one root.key (root_key_credential)

If approvals.operations of the kms contains root_key, an approved request is required: warder officers ask root-key.`,
  verbs: [rotateVerb],
})

async function rotate(home: string, terminal: Terminal): Promise<number> {
  const launches = serviceNames.map((name) => ({
    name,
    launch: configure(name, home, [], terminal.env).launch,
  }))
  const [first] = launches
  if (first === undefined) return 1
  const source = rootKeySource(first.launch.config, (path) => inHome(home, path))
  for (const { launch } of launches) {
    const other = rootKeySource(launch.config, (path) => inHome(home, path))
    if (JSON.stringify(other) !== JSON.stringify(source)) {
      throw new StartupError('auth and kms have different root keys: rotate each with a separate home')
    }
  }
  // Checked before a database is opened, because that would create a missing one.
  const change = prepareRotation(source, terminal)
  const databases: (SealedDatabase & { close(): Promise<void> })[] = []
  try {
    for (const { name, launch } of launches) databases.push(await openSealedDatabase(name, launch))
    const approved = await requireApproval(databases, loadKeys(source, terminal))
    await change({ databases, onStep: async (step) => terminal.out(`  ${step}`) })
    await approved()
    return 0
  } finally {
    for (const { close } of databases) await close()
  }
}

/** Loads the possible root keys of the databases: both the old and the new one, after an interrupted rotation. */
function loadKeys(source: RootKeySource, { env }: Terminal): readonly RootKey[] {
  const keys = loadRootKeys(source, env, { create: false })
  if (source.kind === 'file') return keys
  return [...keys, ...loadRootKeys(getNextSource(source), env, { create: false })]
}

/** The source of the new root key, beside that of the old one. */
function getNextSource(source: Exclude<RootKeySource, { kind: 'file' }>): RootKeySource {
  return source.kind === 'systemd'
    ? { ...source, credential: `${source.credential}.new` }
    : { ...source, variable: `${source.variable}_NEW` }
}

/**
 * Requires an approval, if the settings of the kms demand one for the root key.
 * @returns a function that consumes the approval
 * @throws StartupError
 */
async function requireApproval(
  databases: readonly SealedDatabase[],
  rootKeys: readonly RootKey[],
): Promise<() => Promise<void>> {
  const kms = databases.find(({ service }) => service === 'kms')
  if (kms === undefined || (await isUnsealed(kms.db))) return async () => undefined
  const { db, service } = kms
  const { rootKeyApproval } = await import('@warder/keys')
  const seal = await openSeal({ db, service, rootKeys, clock: systemClock })
  const used = await rootKeyApproval({ db, seal, now: systemClock.now() })
  return async () => {
    if (used !== undefined) await db.commit([used])
  }
}

/** Reads the keys. @returns a function that rotates @throws StartupError when a key is missing */
function prepareRotation(
  source: RootKeySource,
  terminal: Terminal,
): (options: RotateOptions) => Promise<void> {
  if (source.kind === 'file') {
    requireRootKeyFile(source.path)
    return async (options) => {
      await rotateRootKeyFile(source.path, options)
      terminal.out(`${source.path} is a new key: store a copy of it elsewhere`)
    }
  }
  const readKey = (from: RootKeySource): RootKey =>
    requireOneKey(loadRootKeys(from, terminal.env, { create: false }))
  const [old, fresh] = [readKey(source), readKey(getNextSource(source))]
  return async (options) => {
    await rotateRootKey(old, fresh, options)
    terminal.out(`both databases use the new root key: start the services with it in ${old.from}`)
  }
}

function requireOneKey(keys: readonly RootKey[]): RootKey {
  const [key] = keys
  if (key === undefined) throw new StartupError('there is no root key')
  return key
}
