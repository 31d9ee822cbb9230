import { join } from 'node:path'
import { type LoadedConfig, loadConfig } from '@warder/foundation/config'
import type { RuntimeConfig, ServiceLaunch } from '@warder/foundation/runtime'
import { version } from '../version.ts'
import { type ServiceName, serviceModules, settingsOf } from './services.ts'

export interface ServiceConfiguration {
  readonly launch: ServiceLaunch
  readonly loaded: LoadedConfig<ReturnType<typeof settingsOf>>
}

/**
 * The configuration of a service: flags, environment, `HOME/NAME.toml`, defaults.
 * @throws StartupError with the one line that says what is wrong and where
 */
export function configure(
  name: ServiceName,
  home: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ServiceConfiguration {
  const loaded = loadConfig({
    service: name,
    table: settingsOf(name),
    file: join(home, `${name}.toml`),
    env,
    args,
    contradictions: [oneOfTwoTlsFiles, halfAnOidcClient],
  })
  const config = loaded.values as unknown as RuntimeConfig & Readonly<Record<string, unknown>>
  return { launch: { ...serviceModules[name], config, home, version, env }, loaded }
}

function halfAnOidcClient(values: Readonly<Record<string, unknown>>): string | undefined {
  const section = 'ui_config.ui_oidc_auth'
  const [issuer, id] = [values[`${section}.ui_oidc_issuer_url`], values[`${section}.ui_oidc_client_id`]]
  if ((issuer === undefined) === (id === undefined)) return undefined
  return `${section} needs both ui_oidc_issuer_url and ui_oidc_client_id, or neither of them`
}

function oneOfTwoTlsFiles(values: Readonly<Record<string, unknown>>): string | undefined {
  const [cert, key] = [values.tls_cert_file, values.tls_key_file]
  if ((cert === undefined) === (key === undefined)) return undefined
  const [given, missing] =
    cert === undefined ? ['tls_key_file', 'tls_cert_file'] : ['tls_cert_file', 'tls_key_file']
  return `${given} is set (${cert ?? key}) and ${missing} is not: set both, or neither`
}
