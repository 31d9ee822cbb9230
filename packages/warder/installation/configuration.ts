import { join } from 'node:path'
import type { ServiceName } from '@warder/command-line/endpoints'
import { createRootKeyProvider } from '@warder/root-key-providers'
import type { RuntimeConfig, ServiceLaunch } from '@warder/runtime/launch'
import { type LoadedConfig, listChangedSettings, loadConfig } from '@warder/runtime/settings'
import type { LocalCertificate } from '@warder/server'
import { version } from '../version.ts'
import { getForeignSettings, getSettings, serviceModules } from './services.ts'

/** Certificates that the local authority issues on the first run. */
export const localCertificates: readonly LocalCertificate[] = [
  { name: 'auth', commonName: 'Warder auth' },
  { name: 'kms', commonName: 'Warder kms' },
  // For clients of the KMIP socket that support only RSA.
  { name: 'kms-rsa', commonName: 'Warder kms', keyType: 'rsa', optional: true },
  { name: 'client', commonName: 'kmip-client', purpose: 'client' },
]

/** Loaded only when a command asks for shares; a started service collects them on its port. */
const collectShares: ServiceLaunch['collectShares'] = async (find, service) =>
  (await import('../unseal/ask-shares.ts')).askShares(find, service)

export interface ServiceConfiguration {
  readonly launch: ServiceLaunch
  readonly loaded: LoadedConfig<ReturnType<typeof getSettings>>
}

/**
 * The configuration of a service: flags, environment, `HOME/NAME.toml`, defaults.
 * @param firstFile content to use if the file does not exist
 * @throws StartupError with one line that names the setting and its source
 */
export function configure(
  name: ServiceName,
  home: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  firstFile?: string,
): ServiceConfiguration {
  const table = getSettings(name)
  const loaded = loadConfig({
    service: name,
    table,
    file: join(home, `${name}.toml`),
    firstFile,
    env,
    args,
    foreign: getForeignSettings(name),
    contradictions: [
      requireBothOrNeither('tls_cert_file', 'tls_key_file'),
      requireBothOrNeither(...rsaPair),
      findPkcs12Contradiction,
    ],
  })
  const config = loaded.values as unknown as RuntimeConfig & Readonly<Record<string, unknown>>
  const rootKeyProvider = createRootKeyProvider
  const changedSettings = listChangedSettings(table, loaded)
  const given = { config, home, version, env, localCertificates, rootKeyProvider, collectShares }
  return { launch: { ...serviceModules[name], ...given, changedSettings }, loaded }
}

/**
 * The flags with which Node has to run a service, so that it uses the FIPS provider of its settings.
 * @throws StartupError when that cannot be used
 */
export async function readNodeFlags({ launch }: ServiceConfiguration): Promise<readonly string[]> {
  const { prepareFips } = await import('@warder/runtime/launch')
  return prepareFips(launch.config, launch.home)
}

function findPkcs12Contradiction(values: Readonly<Record<string, unknown>>): string | undefined {
  const { tls_p12_file: file, tls_cert_file: pem } = values
  const { tls_p12_password_file: passwordFile, tls_p12_password: password } = values
  if (file !== undefined && pem !== undefined)
    return `tls_p12_file is set (${file}) and tls_cert_file too (${pem}): set only one`
  if (passwordFile !== undefined && password !== undefined)
    return 'tls_p12_password_file is set and tls_p12_password too: set only one'
  if (file === undefined && (passwordFile ?? password) !== undefined)
    return `${passwordFile === undefined ? 'tls_p12_password' : 'tls_p12_password_file'} requires tls_p12_file`
  return undefined
}

const rsaPair = ['socket_server_rsa_cert_file', 'socket_server_rsa_key_file'] as const

function requireBothOrNeither(certSetting: string, keySetting: string) {
  return (values: Readonly<Record<string, unknown>>): string | undefined => {
    const [cert, key] = [values[certSetting], values[keySetting]]
    if ((cert === undefined) === (key === undefined)) return undefined
    const [given, missing] = cert === undefined ? [keySetting, certSetting] : [certSetting, keySetting]
    return `${given} is set (${cert ?? key}) and ${missing} is not: set both or neither`
  }
}
