import { randomBytes } from 'node:crypto'
import { Secret, version } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import { allows, type Key, signedIn, type Usage, withheld } from '@warder/keys'
import type { SettingValues } from '@warder/runtime/settings'
import { post } from '@warder/server'
import { StorageUnavailable } from '@warder/storage'
import Type from 'typebox'
import { define, type ExternalStore, type ExternalStoreServices } from '../scope/scope.ts'
import { type AccessKey, createAccessKeys } from './access-keys.ts'
import { signatureAuthenticator } from './authenticate.ts'
import { decryptOperation, encryptOperation } from './encryption.ts'
import {
  awsRight,
  gcmPlan,
  isAes256Gcm,
  joinAuthenticatedData,
  permitsGcm,
  requireResolvedKey,
} from './key.ts'
import {
  HealthMetadata,
  KeyPath,
  RequestMetadata,
  recordMetadata,
  title,
  type XksRoute,
  xksErrors,
  xksFailure,
  xksRoute,
} from './request.ts'
import type { awsSettings } from './settings.ts'

/** Timeout of the database check: AWS KMS waits for 250 ms. */
const patienceMs = 200

/**
 * Checks that the database is reachable and writable, and that the key backend can use a temporary key.
 * @throws failures that are reported as DependencyTimeoutException or InternalException
 */
async function requireHealth({ db, keys, policy }: ExternalStoreServices): Promise<void> {
  const problem = db.problem()
  if (problem !== undefined) throw new StorageUnavailable(problem)
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new StorageUnavailable('the database did not respond in time')),
    patienceMs,
  )
  try {
    await Promise.race([db.ping(), late])
  } finally {
    clearTimeout(timer)
  }
  const key = await keys.backend.open('secret', randomBytes(32))
  const data = randomBytes(32)
  const aad = joinAuthenticatedData(data, data.subarray(0, 1))
  const plan = gcmPlan(policy)
  const made = await key.encrypt(plan, { data, iv: undefined, aad })
  const opened = await key.decrypt(plan, { data: made.data, iv: made.iv, tag: made.tag, aad })
  if (!opened.equals(data))
    throw xksFailure('InternalException', 'a test key did not decrypt its own ciphertext')
}

/** XKS Proxy API, GetHealthStatus: involves no key and no grant. */
function healthOperation(route: XksRoute) {
  return define({
    ...route.common('health'),
    route: post(route.path('/health')),
    summary: 'Check that keys can be used, for AWS KMS',
    reach: ['reveal public'],
    access: signedIn,
    request: Type.Object({ requestMetadata: HealthMetadata }),
    reply: Type.Object({
      xksProxyFleetSize: Type.Integer(),
      xksProxyVendor: Type.String(),
      xksProxyModel: Type.String(),
      ekmVendor: Type.String(),
      ekmFleetDetails: Type.Array(
        Type.Object({ id: Type.String(), model: Type.String(), healthStatus: Type.String() }),
      ),
    }),
    async act({ body }, context) {
      recordMetadata(context, body.requestMetadata)
      await requireHealth(context.services)
      const model = `Warder ${version}`
      return {
        xksProxyFleetSize: route.fleetSize,
        xksProxyVendor: 'Warder',
        xksProxyModel: model,
        ekmVendor: 'Warder',
        ekmFleetDetails: [{ id: route.node, model, healthStatus: 'ACTIVE' }],
      }
    },
  })
}

const usages: readonly (readonly [name: string, use: Usage])[] = [
  ['ENCRYPT', 'encrypt'],
  ['DECRYPT', 'decrypt'],
  ['SIGN', 'sign'],
  ['VERIFY', 'verify'],
  ['WRAP', 'wrapKey'],
  ['UNWRAP', 'unwrapKey'],
  ['DERIVE', 'deriveKey'],
]

/** AWS KMS accepts only `AES_256`; other keys report their own specification. */
function keySpec({ object }: Key): string {
  return `${object.algorithm ?? object.type}${object.bits === undefined ? '' : `_${object.bits}`}`
}

function keyUsage(key: Key, policy: AlgorithmPolicy): readonly string[] {
  const may = usages.filter(([, use]) => allows(key.object.usageMask, use)).map(([name]) => name)
  // A key that is bound to another algorithm cannot be used with AES-GCM.
  const isAes256 = key.object.algorithm === 'AES' && key.object.bits === 256
  const gcm = !isAes256 || (isAes256Gcm(key) && permitsGcm(policy))
  return gcm ? may : may.filter((name) => name !== 'ENCRYPT' && name !== 'DECRYPT')
}

/** XKS Proxy API, GetKeyMetadata. */
function metadataOperation(route: XksRoute) {
  return define({
    ...route.common('metadata'),
    route: post(route.path('/keys/{externalKeyId}/metadata')),
    summary: 'Metadata of a key, for AWS KMS',
    reach: ['reveal attributes'],
    access: awsRight(route, 'getattributes', 'newest'),
    pathParameters: KeyPath,
    request: Type.Object({ requestMetadata: RequestMetadata }),
    reply: Type.Object({
      keySpec: Type.String(),
      keyUsage: Type.Array(Type.String()),
      keyStatus: Type.String({ description: 'ENABLED or DISABLED' }),
    }),
    act(_input, context) {
      const key = requireResolvedKey(context)
      const { state } = key
      if (state === 'Destroyed' || state === 'Destroyed_Compromised')
        throw xksFailure('KeyNotFoundException', `The key is ${state}.`)
      const enabled = state === 'Active' && withheld(key.object) === undefined
      return {
        keySpec: keySpec(key),
        keyUsage: keyUsage(key, context.services.policy),
        keyStatus: enabled ? 'ENABLED' : 'DISABLED',
      }
    },
  })
}

type AwsConfig = SettingValues<typeof awsSettings>

/** The AWS XKS proxy: AWS KMS uses keys of this service as the keys of an external key store (XKS Proxy API, version 1). */
export const aws: ExternalStore<AwsConfig> = {
  name: 'aws',
  title,
  enabled: (config) => config['aws_xks_config.aws_xks_enable'],
  ratePerSecond: (config) => config['aws_xks_config.aws_xks_rate_limit_per_second'],
  facts: (config, baseUrl) => ({
    endpoint: config.kms_public_url ?? baseUrl,
    paths: config['aws_xks_config.aws_xks_uri_path_prefixes'].map((prefix) => `${prefix}/kms/xks/v1`),
    ...(config['aws_xks_config.aws_xks_sigv4_access_key_id'] !== undefined && {
      access_key_id: config['aws_xks_config.aws_xks_sigv4_access_key_id'],
    }),
    ...(config['aws_xks_config.aws_xks_client_names'].length > 0 && {
      client_names: [...config['aws_xks_config.aws_xks_client_names']],
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
