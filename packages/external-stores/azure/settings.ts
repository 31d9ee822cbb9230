import { boolean, list, optionalInteger, optionalText, type SettingValues } from '@warder/runtime/settings'

/**
 * Returns the reason why this cannot follow `/azureekm` in a path, which has at most 64 characters (EKM Proxy API, URI
 * format).
 */
function pathPrefixProblem(prefix: string): string | undefined {
  const formed = prefix === '' || /^[A-Za-z0-9-]+(?:\/[A-Za-z0-9-]+)*$/.test(prefix)
  if (formed && prefix.length <= 55) return undefined
  return 'a path prefix must be at most 55 letters, digits, dashes and slashes, without a slash at its ends'
}

/** Settings of the Azure EKM proxy. Their names are those of the deployed peer, if it has them. */
export const azureSettings = {
  'azure_ekm_config.azure_ekm_enable': boolean({
    default: false,
    env: 'KMS_AZURE_EKM_ENABLE',
    flag: 'azure-ekm-enable',
    docs: 'Serve the Azure EKM proxy API: pools of Azure Managed HSM may use keys that are granted to `azure:…`.',
  }),
  'azure_ekm_config.azure_ekm_ca_cert_file': optionalText({
    env: 'KMS_AZURE_EKM_CA_CERT_FILE',
    flag: 'azure-ekm-ca-cert-file',
    docs: 'PEM file of the authorities of the client certificates of Azure Managed HSM: `caCertificates` of `az keyvault ekm-connection certificate show`, all of them. Their certificates identify no user of other interfaces.',
  }),
  'azure_ekm_config.azure_ekm_client_names': list({
    default: [],
    env: 'KMS_AZURE_EKM_CLIENT_NAMES',
    flag: 'azure-ekm-client-names',
    docs: 'Subject Common Names of the permitted pools: `subjectCommonName` of the same command. Grants use `azure:NAME`.',
  }),
  'azure_ekm_config.azure_ekm_path_prefixes': list({
    default: [''],
    env: 'KMS_AZURE_EKM_PATH_PREFIXES',
    flag: 'azure-ekm-path-prefixes',
    docs: 'Path prefixes after `/azureekm/`, one for each EKM connection. The empty string means `/azureekm` itself.',
    check(prefixes) {
      if (new Set(prefixes).size !== prefixes.length) return 'each path prefix must be unique'
      if (prefixes.length === 0 || prefixes.length > 32) return 'it must have 1 to 32 path prefixes'
      return prefixes.map(pathPrefixProblem).find((problem) => problem !== undefined)
    },
  }),
  'azure_ekm_config.azure_ekm_rate_limit_per_second': optionalInteger({
    env: 'KMS_AZURE_EKM_RATE_LIMIT_PER_SECOND',
    flag: 'azure-ekm-rate-limit-per-second',
    min: 1,
    max: 1_000_000,
    docs: 'Maximum requests per second of all pools together on one node; further ones are throttled. Unset = no limit.',
  }),
} as const

/** @returns an error message when the store is enabled with settings that admit no client */
export function azureSettingsProblem(
  config: SettingValues<typeof azureSettings> & { readonly plaintext_http: boolean },
): string | undefined {
  if (!config['azure_ekm_config.azure_ekm_enable']) return undefined
  if (config.plaintext_http)
    return 'azure_ekm_enable requires client certificates, so it cannot be used with plaintext_http'
  if (config['azure_ekm_config.azure_ekm_ca_cert_file'] === undefined)
    return 'azure_ekm_enable requires azure_ekm_config.azure_ekm_ca_cert_file, which is not set'
  if (config['azure_ekm_config.azure_ekm_client_names'].length === 0)
    return 'azure_ekm_enable requires azure_ekm_config.azure_ekm_client_names, which is empty'
  return undefined
}
