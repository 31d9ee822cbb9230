import { Secret } from '@warder/base'
import type { SettingValues } from '@warder/runtime/settings'
import type { ExternalStore } from '../scope/store.ts'
import { type AccessKey, createAccessKeys } from '../stores/aws/access-keys.ts'
import { signatureAuthenticator } from './authenticate.ts'
import { decryptOperation } from './decrypt.ts'
import { encryptOperation } from './encrypt.ts'
import { xksErrors, xksFailure } from './errors.ts'
import { healthOperation } from './health.ts'
import { metadataOperation } from './metadata.ts'
import { title, xksRoute } from './route.ts'
import type { awsSettings } from './settings.ts'

export type AwsConfig = SettingValues<typeof awsSettings>

/** The AWS XKS proxy: AWS KMS uses keys of this service as the keys of an external key store (XKS Proxy API, version 1). */
export const aws: ExternalStore<AwsConfig> = {
  name: 'aws',
  title,
  enabled: (config) => config['aws_xks_config.aws_xks_enable'],
  ratePerSecond: (config) => config['aws_xks_config.aws_xks_rate_limit_per_second'],
  facts: (config, baseUrl) => ({
    endpoint: config.kms_public_url ?? baseUrl,
    paths: config['aws_xks_config.aws_xks_uri_path_prefixes'].map((prefix) => `${prefix}/kms/xks/v1`),
    ...(config['aws_xks_config.aws_xks_client_names'].length > 0 && {
      client_names: config['aws_xks_config.aws_xks_client_names'],
    }),
  }),
  securitySchemes: {
    awsSigV4: { type: 'apiKey', in: 'header', name: 'Authorization' },
  },
  errorShape: xksErrors,
  stopped: () => xksFailure('InvalidStateException', 'This external key store is stopped.'),
  operations({ config, db, seal, clock, node }) {
    const prefixes = config['aws_xks_config.aws_xks_uri_path_prefixes']
    const accessKeys = createAccessKeys({
      db,
      seal,
      clock,
      leaseMs: config.cache_lease_ms,
      configured: readConfiguredKey(config),
    })
    const signatures = {
      accessKeys,
      service: config['aws_xks_config.aws_xks_service'],
      clientNames: config['aws_xks_config.aws_xks_client_names'],
    }
    const fleetSize = config['aws_xks_config.aws_xks_fleet_size']
    return prefixes.flatMap((uriPrefix, index) => {
      const store = { uriPrefix, isFirst: index === 0 }
      const route = xksRoute(store, signatureAuthenticator(signatures, uriPrefix), {
        node,
        fleetSize,
        accessKeys,
      })
      return [
        healthOperation(route),
        metadataOperation(route),
        encryptOperation(route),
        decryptOperation(route),
      ]
    })
  },
}

/** The access key of the settings; undefined when there is none. */
function readConfiguredKey(config: AwsConfig): AccessKey | undefined {
  const id = config['aws_xks_config.aws_xks_sigv4_access_key_id']
  const secret = config['aws_xks_config.aws_xks_sigv4_secret_access_key']
  const region = config['aws_xks_config.aws_xks_region']
  if (id === undefined || secret === undefined || region === undefined) return undefined
  const [uriPrefix = ''] = config['aws_xks_config.aws_xks_uri_path_prefixes']
  return { id, uriPrefix, region, secret: Secret.fromText(secret) }
}
