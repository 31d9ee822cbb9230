import { failure } from '@warder/base'
import { type ErrorShape, errorBody } from '@warder/server'
import type { ExternalStore } from '../scope/store.ts'
import { decrypt } from './decrypt.ts'
import { publicKey } from './public-key.ts'
import { createMicrosoftScope, parseNamedKeys, toServiceUrl } from './scope.ts'
import type { MicrosoftConfig } from './settings.ts'
import { versionName, versionOperation } from './version.ts'

/** Microsoft's sample knows 400, 401 and 403 (KeysController.cs): what is not there, or cannot be used, is 400. */
const asBadRequest: ReadonlySet<number> = new Set([409, 422])

const microsoftErrors: ErrorShape = {
  reply: (failed, { id }) => ({
    status: asBadRequest.has(failed.status) ? 400 : failed.status,
    json: errorBody(failed, id),
  }),
}

/** Double Key Encryption of Microsoft 365. */
export const microsoft: ExternalStore<MicrosoftConfig> = {
  name: 'microsoft',
  title: 'Microsoft DKE',
  enabled: (config) => config['ms_dke_config.ms_dke_enable'],
  ratePerSecond: (config) => config['ms_dke_config.ms_dke_rate_limit_per_second'],
  facts: (config, baseUrl) => {
    const serviceUrl = toServiceUrl(config.kms_public_url ?? baseUrl)
    const keys = parseNamedKeys(config)
    return {
      service_url: serviceUrl,
      key_urls: [...keys.keys()].map((name) => `${serviceUrl}/${name}`),
      keys: Object.fromEntries(keys),
      trial_key: config['ms_dke_config.ms_dke_trial_key'],
    }
  },
  securitySchemes: {
    entraToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Of Microsoft Entra.' },
  },
  errorShape: microsoftErrors,
  stopped: () => failure('forbidden', 'The operator of the key service stopped Double Key Encryption.'),
  operations(environment) {
    const scope = createMicrosoftScope(environment)
    const own = scope.current.has(versionName) ? [] : [versionOperation]
    return [...own, publicKey(scope), decrypt(scope)]
  },
}
