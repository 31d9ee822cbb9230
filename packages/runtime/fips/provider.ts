import { execFile } from 'node:child_process'
import { getFips } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inHome, StartupError } from '@warder/base'

export interface FipsConfig {
  readonly fips: boolean
  readonly fips_provider_path: string | undefined
  readonly fips_provider_config: string | undefined
  readonly fips_provider_required: boolean
}

/** Version and status that OpenSSL's FIPS provider reports. */
export interface FipsProvider {
  readonly name: string
  /** Version of the provider, which may be another than that of Node's OpenSSL. */
  readonly version: string
  readonly buildinfo: string
  /** The provider passed its self-tests at the start, and has not entered the error state. */
  readonly status: boolean
  /** It passed its self-tests again on request. */
  readonly selfTest: boolean
  /** Whether algorithms of other providers are excluded. */
  readonly isDefault: boolean
}

const entry = fileURLToPath(new URL('./provider-process.ts', import.meta.url))
const timeoutMs = 30_000
const run = promisify(execFile)

/**
 * Reads version and status from the provider that the flags load, in another process with the same configuration.
 * @param flags default: those of this process
 * @throws StartupError with the reason of OpenSSL
 */
export async function readFipsProvider(flags: readonly string[] = findFlags()): Promise<FipsProvider> {
  const words = [...flags, '--experimental-ffi', '--disable-warning=ExperimentalWarning', entry]
  try {
    const { stdout } = await run(process.execPath, words, { timeout: timeoutMs })
    return JSON.parse(stdout) as FipsProvider
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string }
    const reason = stderr.split('\n').find((line) => /error|Error/.test(line)) ?? message
    throw new StartupError(`OpenSSL's FIPS provider cannot be used: ${reason.trim()}`, { cause: error })
  }
}

function findFlags(): readonly string[] {
  return process.execArgv.filter((flag) => /^--(?:openssl-|enable-fips$|force-fips$)/.test(flag))
}

/**
 * Tests the provider of the settings, and writes the OpenSSL configuration that loads it into the home.
 * @returns the flags with which Node has to be started; none without such a setting
 * @throws StartupError
 */
export async function prepareFips(config: FipsConfig, home: string): Promise<readonly string[]> {
  const text = formatConfiguration(config, home)
  if (text === undefined) return []
  await testProvider(text)
  const path = join(home, 'openssl-fips.cnf')
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    const made = `${path}.${process.pid}`
    writeFileSync(made, text, { mode: 0o600 })
    renameSync(made, path)
  }
  return toFlags(path)
}

/**
 * Refuses settings that contradict FIPS mode, and a provider that is required and cannot be used.
 * @throws StartupError
 */
export async function requireFipsProvider(
  config: FipsConfig & { readonly root_key_source: string; readonly tls_cipher_suites: string | undefined },
  home: string,
): Promise<void> {
  if (!config.fips) {
    if (config.fips_provider_path === undefined) return
    throw new StartupError('fips_provider_path has no effect without fips = true: set it, or remove the path')
  }
  if (config.root_key_source === 'passphrase')
    throw new StartupError(
      'fips: root_key_source passphrase derives the root key with argon2id, which is not approved: use another source',
    )
  const suite = /[\w-]*CHACHA20[\w-]*/i.exec(config.tls_cipher_suites ?? '')
  if (suite !== null)
    throw new StartupError(`fips: tls_cipher_suites names ${suite[0]}, which is not approved: remove it`)
  const text = formatConfiguration(config, home)
  if (text !== undefined && getFips() !== 1) await testProvider(text)
  if (text !== undefined || getFips() === 1 || !config.fips_provider_required) return
  throw new StartupError(
    "fips_provider_required is set, but OpenSSL's FIPS provider is not active: name it in fips_provider_path, or disable the setting",
  )
}

async function testProvider(text: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-fips-'))
  try {
    const path = join(folder, 'openssl.cnf')
    writeFileSync(path, text)
    const provider = await readFipsProvider(toFlags(path))
    if (!provider.status || !provider.selfTest || !provider.isDefault)
      throw new StartupError(
        `OpenSSL's FIPS provider ${provider.version} has failed its self-tests: install it again (openssl fipsinstall)`,
      )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function toFlags(configuration: string): readonly string[] {
  return [`--openssl-config=${configuration}`, '--enable-fips']
}

/** @returns undefined when the settings name no provider @throws StartupError for files that are missing */
function formatConfiguration(config: FipsConfig, home: string): string | undefined {
  const { fips_provider_path: path, fips_provider_config: given } = config
  if (!config.fips || path === undefined) return undefined
  const library = inHome(home, path)
  const module = inHome(home, given ?? join(dirname(library), 'fipsmodule.cnf'))
  for (const [setting, file] of [
    ['fips_provider_path', library],
    ['fips_provider_config', module],
  ] as const) {
    if (!existsSync(file)) throw new StartupError(`${setting}: ${file} does not exist`)
    if (!/^[\w./+@:-]+$/.test(file))
      throw new StartupError(
        `${setting}: ${file} has characters that a configuration of OpenSSL cannot contain`,
      )
  }
  // Encoders and decoders of keys are in the provider base, which has no algorithms.
  return `nodejs_conf = nodejs_init
.include ${module}
[nodejs_init]
providers = provider_sect
alg_section = algorithm_sect
[provider_sect]
fips = fips_sect
base = base_sect
[fips_sect]
module = ${library}
activate = 1
[base_sect]
activate = 1
[algorithm_sect]
default_properties = fips=yes
`
}
