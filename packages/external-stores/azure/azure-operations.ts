import { version } from '@warder/base'
import { encodeBase64Url, encryptRsa } from '@warder/crypto'
import { afterCountingUse, type Key } from '@warder/keys'
import type { SettingValues } from '@warder/runtime/settings'
import { post } from '@warder/server'
import Type from 'typebox'
import { define, type ExternalStore } from '../scope/scope.ts'
import {
  azureRight,
  requireEkmUse,
  requireEnabled,
  requireResolvedKey,
  toKeyType,
  type WrapPlan,
  wrapPlan,
} from './key.ts'
import {
  apiVersion,
  decodeValue,
  type EkmRoute,
  ekmErrors,
  ekmFailure,
  ekmPath,
  ekmRoute,
  KeyPath,
  poolsNamed,
  RequestContext,
  recordContext,
  requireApiVersion,
  title,
} from './request.ts'
import type { azureSettings } from './settings.ts'

/** EKM Proxy API, Get proxy information. */
function infoOperation(route: EkmRoute) {
  return define({
    ...route.common('info'),
    route: post(route.path('/info')),
    summary: 'Information about this proxy, for Azure Managed HSM',
    reach: ['reveal public'],
    access: { name: 'azure pool', check: ({ query }) => requireApiVersion(query) },
    request: Type.Object({ request_context: RequestContext }),
    reply: Type.Object({
      api_version: Type.String(),
      proxy_vendor: Type.String(),
      proxy_name: Type.String(),
      ekm_vendor: Type.String(),
      ekm_product: Type.String(),
    }),
    act({ body }, context) {
      recordContext(context, body.request_context)
      const product = `Warder ${version}`
      return {
        api_version: apiVersion,
        proxy_vendor: 'Warder',
        proxy_name: product,
        ekm_vendor: 'Warder',
        ekm_product: product,
      }
    },
  })
}

/** `n` and `e` of an RSA key, base64url of their bytes, as in a JWK (RFC 7518 §6.3.1). */
function publicNumbers({ held }: Key): { readonly n?: string; readonly e?: string } {
  const { n, e } = held.publicKey?.export({ format: 'jwk' }) ?? {}
  return { ...(n !== undefined && { n }), ...(e !== undefined && { e }) }
}

/** EKM Proxy API, Get key metadata. */
function metadataOperation(route: EkmRoute) {
  return define({
    ...route.common('metadata'),
    route: post(route.path('/{key_name}/metadata')),
    summary: 'Metadata of a key, for Azure Managed HSM',
    reach: ['reveal attributes', 'reveal public'],
    access: azureRight('getattributes'),
    pathParameters: KeyPath,
    request: Type.Object({ request_context: RequestContext }),
    reply: Type.Object({
      key_type: Type.String({ description: 'oct or RSA' }),
      key_size: Type.Integer(),
      key_ops: Type.Array(Type.String()),
      n: Type.Optional(Type.String()),
      e: Type.Optional(Type.String()),
    }),
    act(_input, context) {
      const key = requireResolvedKey(context)
      const keyType = toKeyType(key)
      requireEnabled(key)
      return {
        key_type: keyType,
        key_size: key.object.bits ?? 0,
        key_ops: ['wrapKey', 'unwrapKey'],
        ...(keyType === 'RSA' && publicNumbers(key)),
      }
    },
  })
}

const WrapRequest = Type.Object({
  request_context: RequestContext,
  alg: Type.String({ maxLength: 64, description: 'A256KW, A256KWP, RSA-OAEP-256 or RSA-OAEP' }),
  value: Type.String({ description: 'base64url' }),
})
const WrapReply = Type.Object({ value: Type.String({ description: 'base64url' }) })

/** Minimum number of bytes for AES key wrap. */
const minAesBytes = 8

async function wrapValue(key: Key, wrap: WrapPlan, value: Buffer): Promise<Buffer> {
  if (wrap.keyType === 'oct') {
    if (value.length < minAesBytes)
      throw ekmFailure('InvalidRequest', `value must have at least ${minAesBytes} bytes.`)
    const { data } = await key.held.encrypt(wrap.plan, { data: value, iv: undefined, aad: undefined })
    return data
  }
  const { publicKey } = key.held
  if (publicKey === undefined) throw ekmFailure('InternalError', 'an RSA key has no public half')
  return encryptRsa(publicKey, wrap.plan, value)
}

/** EKM Proxy API, Wrap key. */
function wrapKeyOperation(route: EkmRoute) {
  return define({
    ...route.common('wrapkey'),
    route: post(route.path('/{key_name}/wrapkey')),
    summary: 'Wrap a key for Azure Managed HSM',
    reach: ['make ciphertext'],
    access: azureRight('encrypt'),
    pathParameters: KeyPath,
    request: WrapRequest,
    reply: WrapReply,
    async act({ body: { alg, value } }, context) {
      const key = requireResolvedKey(context)
      const keyType = toKeyType(key)
      const plan = wrapPlan(alg, keyType, key.object.bits ?? 0, context.services.policy)
      const bytes = decodeValue(value)
      context.audit({ algorithm: alg })
      await requireEkmUse(key, 'wrapKey', context)
      key.requireBoundTo(alg)
      const wrapped = await wrapValue(key, plan, bytes)
      return await afterCountingUse(context, key, bytes.length, { value: encodeBase64Url(wrapped) })
    },
  })
}

/** Length of a key wrapped with the largest RSA key. */
const maxRsaBytes = 512

async function unwrapValue(key: Key, wrap: WrapPlan, value: Buffer): Promise<Buffer> {
  if (wrap.keyType === 'oct')
    return key.held.decrypt(wrap.plan, { data: value, iv: undefined, aad: undefined, tag: undefined })
  if (value.length > maxRsaBytes)
    throw ekmFailure('InvalidRequest', `value must have at most ${maxRsaBytes} bytes.`)
  return key.held.decryptRsa(wrap.plan, value)
}

/** EKM Proxy API, Unwrap key. */
function unwrapKeyOperation(route: EkmRoute) {
  return define({
    ...route.common('unwrapkey'),
    route: post(route.path('/{key_name}/unwrapkey')),
    summary: 'Unwrap a key for Azure Managed HSM',
    reach: ['reveal plaintext'],
    access: azureRight('decrypt'),
    pathParameters: KeyPath,
    request: WrapRequest,
    reply: WrapReply,
    async act({ body: { alg, value } }, context) {
      const key = requireResolvedKey(context)
      const keyType = toKeyType(key)
      const plan = wrapPlan(alg, keyType, key.object.bits ?? 0, context.services.policy)
      const bytes = decodeValue(value)
      context.audit({ algorithm: alg })
      await requireEkmUse(key, 'unwrapKey', context)
      key.requireBoundTo(alg)
      const opened = await unwrapValue(key, plan, bytes)
      const reply = { value: encodeBase64Url(opened) }
      opened.fill(0)
      return reply
    },
  })
}

type AzureConfig = SettingValues<typeof azureSettings>

/** The Azure EKM proxy: pools of Azure Managed HSM wrap with keys of this service (EKM Proxy API, 0.1-preview). */
export const azure: ExternalStore<AzureConfig> = {
  name: 'azure',
  title,
  enabled: (config) => config['azure_ekm_config.azure_ekm_enable'],
  ratePerSecond: (config) => config['azure_ekm_config.azure_ekm_rate_limit_per_second'],
  facts: (config, baseUrl) => ({
    endpoint: config.kms_public_url ?? baseUrl,
    paths: config['azure_ekm_config.azure_ekm_path_prefixes'].map(ekmPath),
    client_names: [...config['azure_ekm_config.azure_ekm_client_names']],
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
