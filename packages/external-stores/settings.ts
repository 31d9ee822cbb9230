import { StartupError } from '@warder/base'
import type { ExternalStoreName } from '@warder/keys'
import type { SettingValues } from '@warder/runtime/settings'
import type { AuthoritiesFile, PartnerHosts } from '@warder/server'
import { awsSettings, awsSettingsProblem } from './aws/settings.ts'
import { azureSettings, azureSettingsProblem } from './azure/settings.ts'
import { googleSettings, googleSettingsProblem } from './google/settings.ts'
import { microsoftSettings, microsoftSettingsProblem } from './microsoft/settings.ts'

/** Settings of all external key stores. */
export const externalSettings = {
  ...awsSettings,
  ...azureSettings,
  ...googleSettings,
  ...microsoftSettings,
} as const

/** Authority files for client certificates of clouds, by the names of the stores. */
export function externalPartners(
  config: SettingValues<typeof externalSettings>,
): Readonly<Record<string, AuthoritiesFile>> {
  const files = {
    aws: ['aws_xks_config.aws_xks_enable', 'aws_xks_config.aws_xks_client_ca_cert_file'],
    azure: ['azure_ekm_config.azure_ekm_enable', 'azure_ekm_config.azure_ekm_ca_cert_file'],
  } as const satisfies Partial<Record<ExternalStoreName, unknown>>
  return Object.fromEntries(
    Object.entries(files).flatMap(([name, [enabled, setting]]) => {
      const file = config[setting]
      return config[enabled] && file !== undefined ? [[name, { file, setting }] as const] : []
    }),
  )
}

/** Names of this server to which only a cloud connects. */
export function externalHosts(config: SettingValues<typeof externalSettings>): PartnerHosts {
  const commonNames = new Set(config['aws_xks_config.aws_xks_client_names'])
  const names = config['aws_xks_config.aws_xks_enable'] ? config['aws_xks_config.aws_xks_server_names'] : []
  return new Map(names.map((name) => [name.toLowerCase(), { partner: 'aws', commonNames }]))
}

/** Keys with which this service signs tokens of its external key stores: `Roles.reservedSigners`. */
export function reserveSigners(config: SettingValues<typeof externalSettings>): ReadonlySet<string> {
  const key = config['google_cse_config.google_cse_signing_key']
  return new Set(config['google_cse_config.google_cse_enable'] && key !== undefined ? [key] : [])
}

/** Refuses incomplete settings of any store. @throws StartupError */
export function refuseHalfStores(
  config: SettingValues<typeof externalSettings> & { readonly plaintext_http: boolean },
): void {
  const problem =
    awsSettingsProblem(config) ??
    azureSettingsProblem(config) ??
    googleSettingsProblem(config) ??
    microsoftSettingsProblem(config)
  if (problem !== undefined) throw new StartupError(problem)
}
