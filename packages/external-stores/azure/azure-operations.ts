import type { SettingValues } from '@warder/runtime/settings'
import type { ExternalStore } from '../scope/store.ts'
import { poolsNamed } from './authenticate.ts'
import { ekmErrors, ekmFailure } from './errors.ts'
import { infoOperation } from './info.ts'
import { metadataOperation } from './metadata.ts'
import { ekmPath, ekmRoute, title } from './route.ts'
import type { azureSettings } from './settings.ts'
import { unwrapKeyOperation } from './unwrap-key.ts'
import { wrapKeyOperation } from './wrap-key.ts'

export type AzureConfig = SettingValues<typeof azureSettings>

/** The Azure EKM proxy: pools of Azure Managed HSM wrap with keys of this service (EKM Proxy API, 0.1-preview). */
export const azure: ExternalStore<AzureConfig> = {
  name: 'azure',
  title,
  enabled: (config) => config['azure_ekm_config.azure_ekm_enable'],
  ratePerSecond: (config) => config['azure_ekm_config.azure_ekm_rate_limit_per_second'],
  facts: (config, baseUrl) => ({
    endpoint: config.kms_public_url ?? baseUrl,
    paths: config['azure_ekm_config.azure_ekm_path_prefixes'].map(ekmPath),
  }),
  securitySchemes: { azureMutualTls: { type: 'mutualTLS' } },
  errorShape: ekmErrors,
  stopped: () => ekmFailure('Forbidden', 'This external key store is stopped.'),
  operations({ config }) {
    const authenticate = poolsNamed(config['azure_ekm_config.azure_ekm_client_names'])
    return config['azure_ekm_config.azure_ekm_path_prefixes'].flatMap((prefix) => {
      const route = ekmRoute(prefix, authenticate)
      return [
        infoOperation(route),
        metadataOperation(route),
        wrapKeyOperation(route),
        unwrapKeyOperation(route),
      ]
    })
  },
}
