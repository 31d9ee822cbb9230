import { existsSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'
import { inHome } from '@warder/foundation/home'
import { openSealedDatabase, rootKeySource, systemClock } from '@warder/foundation/runtime'
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
} from '@warder/foundation/seal'
import type { Terminal } from '../cli/command.ts'
import { requireNoNames } from '../cli/options.ts'
import { homeVerb, verbCommand } from '../cli/verb-command.ts'
import { configure } from '../installation/configuration.ts'
import { serviceNames } from '../installation/services.ts'

const rotateVerb = homeVerb({
  name: 'rotate',
  words: '',
  summary: "makes a new root key and wraps both services' data keys under it",
  examples: ['warder root-key rotate --home /var/lib/warder'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return ({ home, terminal }) => {
      if (!existsSync(home)) throw new StartupError(`the home folder ${home} is not there`)
      return rotate(home, terminal)
    }
  },
})

export const rootKey = verbCommand({
  name: 'root-key',
  summary: 'gives the installation a new root key, without touching a row of data',
  about: `Rows stay as they are, and the services may keep running. Stopped at any moment, everything still opens: start it
again and it finishes.

  file          root.key is replaced by a new one; make a new copy of it afterwards
  environment   the new key is WARDER_ROOT_KEY_NEW (32 bytes in base64url), the old one WARDER_ROOT_KEY
  passphrase    the new one is WARDER_ROOT_KEY_PASSPHRASE_NEW, the old one WARDER_ROOT_KEY_PASSPHRASE

Where approvals.operations of the kms names root_key, it takes an approved request: warder officers ask root-key.`,
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
      throw new StartupError('auth and kms have different root keys: rotate each with a home of its own')
    }
  }
  // Before a database is opened: that makes one where there is none.
  const change = prepareRotation(source, terminal)
  const databases: (SealedDatabase & { close(): Promise<void> })[] = []
  try {
    for (const { name, launch } of launches) databases.push(await openSealedDatabase(name, launch))
    const approved = await requireApproval(databases, loadKeys(source, terminal))
    await change({ databases, onStep: (step) => terminal.out(`  ${step}`) })
    await approved()
    return 0
  } finally {
    for (const { close } of databases) await close()
  }
}

/** Those that the databases may be under: both, of a rotation that was interrupted. */
function loadKeys(source: RootKeySource, { env }: Terminal): readonly RootKey[] {
  const keys = loadRootKeys(source, env, { create: false })
  if (source.kind === 'file') return keys
  const next = { ...source, variable: `${source.variable}_NEW` }
  return [...keys, ...loadRootKeys(next, env, { create: false })]
}

/**
 * Where the settings of the kms put another root key under the approval of its officers, there has to be one.
 * @returns uses it up
 * @throws StartupError
 */
async function requireApproval(
  databases: readonly SealedDatabase[],
  rootKeys: readonly RootKey[],
): Promise<() => Promise<void>> {
  const kms = databases.find(({ service }) => service === 'kms')
  if (kms === undefined || (await isUnsealed(kms.db))) return async () => undefined
  const { db, service } = kms
  const { rootKeyApproval } = await import('@warder/kms/access')
  const seal = await openSeal({ db, service, rootKeys, clock: systemClock })
  const used = await rootKeyApproval({ db, seal, now: systemClock.now() })
  return async () => {
    if (used !== undefined) await db.commit([used])
  }
}

/** Reads the keys; what it returns does the work. @throws StartupError when one is not there */
function prepareRotation(
  source: RootKeySource,
  terminal: Terminal,
): (options: RotateOptions) => Promise<void> {
  if (source.kind === 'file') {
    requireRootKeyFile(source.path)
    return async (options) => {
      await rotateRootKeyFile(source.path, options)
      terminal.out(`${source.path} is new: make a copy of it somewhere else`)
    }
  }
  const readKey = (variable: string): RootKey =>
    requireOneKey(loadRootKeys({ ...source, variable }, terminal.env, { create: false }))
  const [old, fresh] = [readKey(source.variable), readKey(`${source.variable}_NEW`)]
  return async (options) => {
    await rotateRootKey(old, fresh, options)
    terminal.out(`both databases are on the new root key: start the services with it as ${source.variable}`)
  }
}

function requireOneKey(keys: readonly RootKey[]): RootKey {
  const [key] = keys
  if (key === undefined) throw new StartupError('there is no root key')
  return key
}
