import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const libraries = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/usr/local/lib/softhsm/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
]
const library = libraries.find((path) => existsSync(path))

/** Value for `skip` of a test: false when SoftHSM and its tool are installed, else the reason. */
export const missingSofthsm: string | false =
  library !== undefined && spawnSync('softhsm2-util', ['--version']).status === 0
    ? false
    : 'SoftHSM is not installed (Debian package softhsm2)'

/** Value for `skip` of a test: false when the programs are installed, else the reason. */
export function missingTools(...names: readonly string[]): string | false {
  const missing = names.filter((name) => spawnSync('which', [name]).status !== 0)
  return missing.length === 0 ? false : `not installed: ${missing.join(', ')}`
}

/** A token of SoftHSM in a temporary folder. */
export interface SofthsmToken {
  readonly library: string
  readonly label: string
  readonly pin: string
  readonly folder: string
  readonly pinFile: string
  readonly env: NodeJS.ProcessEnv
  /** Runs another program on the same token. @returns both its outputs @throws Error when it fails */
  run(program: string, ...words: readonly string[]): string
  addToken(label: string): void
  [Symbol.dispose](): void
}

export function createSofthsmToken(label = 'warder test'): SofthsmToken {
  const folder = mkdtempSync(join(tmpdir(), 'warder-softhsm-'))
  mkdirSync(join(folder, 'tokens'))
  const configuration = join(folder, 'softhsm2.conf')
  const lines = [
    `directories.tokendir = ${join(folder, 'tokens')}`,
    'objectstore.backend = file',
    'log.level = ERROR',
  ]
  writeFileSync(configuration, `${lines.join('\n')}\n`)
  const env = { ...process.env, SOFTHSM2_CONF: configuration }
  const pin = '4711-warder'
  const pinFile = join(folder, 'pin')
  writeFileSync(pinFile, `${pin}\n`, { mode: 0o600 })
  const token: SofthsmToken = {
    ...{ library: library ?? '', label, pin, folder, pinFile, env },
    run(program, ...words) {
      const { status, stdout, stderr, error } = spawnSync(program, words, {
        env,
        encoding: 'utf8',
        timeout: 60_000,
      })
      const text = `${stdout}${stderr}`
      if (status !== 0) throw new Error(`${program} ${words.join(' ')}: ${status} ${error ?? ''} ${text}`)
      return text
    },
    addToken: (name) =>
      void token.run(
        'softhsm2-util',
        '--init-token',
        '--free',
        '--label',
        name,
        '--pin',
        pin,
        '--so-pin',
        '12345678',
      ),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
  token.addToken(label)
  return token
}

let ofProcess: SofthsmToken | undefined

/**
 * A token of this label in the one folder of this process: the programs that it starts inherit `SOFTHSM2_CONF`, and files
 * of tests may share a process.
 */
export function createProcessToken(label: string): SofthsmToken {
  if (ofProcess === undefined) {
    const first = createSofthsmToken(label)
    ofProcess = first
    process.env.SOFTHSM2_CONF = first.env.SOFTHSM2_CONF
    process.once('exit', () => first[Symbol.dispose]())
  } else {
    ofProcess.addToken(label)
  }
  return { ...ofProcess, label }
}
