import { failure, version } from '@warder/base'
import { planRsa } from '@warder/crypto'
import { Key, publicAccess, requireKeyUse } from '@warder/keys'
import { type Access, type ErrorShape, errorBody, get, type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64, define, type ExternalStore, type ExternalStoreServices } from '../scope/scope.ts'
import { currentKey, decryptionKey, requireRsa } from './key.ts'
import {
  createMicrosoftScope,
  dkePath,
  type MicrosoftScope,
  parseNamedKeys,
  toServiceUrl,
  trialName,
} from './scope.ts'
import type { MicrosoftConfig } from './settings.ts'
import { byEntraToken, readCaller } from './token.ts'

const algorithm = 'RSA-OAEP-256'
const parameters = { paddingMethod: 'OAEP', hashingAlgorithm: 'SHA_256' } as const
/** Of RSA of 8192 bits. */
const maxBytes = 1024

/** Requires a user to whom the key was granted. */
function access(scope: MicrosoftScope): Access<ExternalStoreServices> {
  return {
    name: 'key right granted to microsoft: decrypt',
    async check({ path }, context) {
      const { key_name: name = '', key_id: kid = '' } = path
      context.audit({ object: kid.slice(0, 256), algorithm, details: { key_name: name } })
      const caller = readCaller(context.request)
      if (caller.trial !== (name === trialName))
        throw failure('forbidden', `The key ${trialName} and trial tokens can be used only with each other.`)
      context.found = await decryptionKey(context, scope, caller, name, kid)
    },
  }
}

function requireResolvedKey({ found }: OperationContext<ExternalStoreServices>): Key {
  if (found instanceof Key) return found
  throw failure('internal_error', 'the access check did not run')
}

/** `POST /ms_dke/{key_name}/{key_id}/decrypt`: the second half of a document's key, for users who may read it. */
const decrypt = (scope: MicrosoftScope) =>
  define({
    name: 'ms_dke.decrypt',
    reach: ['reveal plaintext'],
    route: post(`${dkePath}/{key_name}/{key_id}/{action}`),
    summary: 'Decrypt the key of a document with a version of a key',
    tag: 'Microsoft DKE',
    bodyLimit: 16 * 1024,
    authenticate: byEntraToken(scope),
    security: ['entraToken'],
    access: access(scope),
    pathParameters: Type.Object({
      key_name: Type.String(),
      key_id: Type.String({ description: 'The version, as in `kid` of the public key.' }),
      // The routes of the sample are case-insensitive.
      action: Type.String({ pattern: '^[Dd][Ee][Cc][Rr][Yy][Pp][Tt]$', description: 'decrypt' }),
    }),
    request: Type.Object({
      alg: Type.String({ description: algorithm }),
      value: Type.String({ description: 'The ciphertext, base64.' }),
    }),
    reply: Type.Object({ value: Type.String({ description: 'base64' }) }),
    errors: {
      400: 'There is no such key, or it cannot decrypt this.',
      403: 'The user has no right on the key.',
    },
    async act({ body }, context) {
      if (body.alg !== algorithm) throw failure('bad_request', `alg: only ${algorithm} is supported.`)
      const encrypted = decodeBase64(body.value, 'value', maxBytes)
      const key = requireRsa(requireResolvedKey(context))
      requireKeyUse(key, 'decrypt', context)
      const plan = planRsa(key.object.bits ?? 0, parameters, context.services.policy)
      const opened = await key.held.decryptRsa(plan, encrypted)
      const value = opened.toString('base64')
      opened.fill(0)
      return { value }
    },
  })

const dayMs = 86_400_000

/**
 * `GET /ms_dke/{key_name}`: the public key that protects documents, without authentication, as in Microsoft's sample.
 * The modulus is in standard base64 and the exponent a number (Protocols/PublicKey.Response.json); `kid` is the URL
 * under which clients call `decrypt`.
 */
const publicKey = (scope: MicrosoftScope) =>
  define({
    name: 'ms_dke.key',
    reach: ['reveal public'],
    route: get(`${dkePath}/{key_name}`),
    summary: 'The public key of the current version of a key',
    tag: 'Microsoft DKE',
    access: publicAccess,
    pathParameters: Type.Object({ key_name: Type.String({ description: 'Name of the key in the label.' }) }),
    reply: Type.Object({
      key: Type.Object({
        kty: Type.String(),
        n: Type.String({ description: 'Standard base64.' }),
        e: Type.Integer(),
        alg: Type.String(),
        kid: Type.String(),
      }),
      cache: Type.Optional(Type.Object({ exp: Type.String({ description: 'UTC, without a zone.' }) })),
    }),
    errors: { 400: 'No such key, or it cannot be used.' },
    async act({ path }, context) {
      const name = path.key_name
      const key = requireRsa(await currentKey(context, scope, name))
      const { services, audit } = context
      const now = services.clock.now()
      audit({ object: key.object.id, details: { key_name: name } })
      const verdict = key.mayUse('decrypt', now)
      if (!verdict.allowed) throw failure('crypto_failure', verdict.sentence)
      // A deactivated or compromised key must not protect new documents.
      if (key.state !== 'Active') throw failure('crypto_failure', `The key is ${key.state}.`)
      const { n, e } = key.publicMaterial.key.export({ format: 'jwk' })
      const { cacheDays } = scope
      const exp = new Date(now + cacheDays * dayMs).toISOString().slice(0, 19)
      return {
        key: {
          kty: 'RSA',
          n: Buffer.from(n ?? '', 'base64url').toString('base64'),
          e: Number.parseInt(Buffer.from(e ?? '', 'base64url').toString('hex'), 16),
          alg: 'RS256',
          kid: `${scope.serviceUrl}/${name}/${encodeURIComponent(key.object.id)}`,
        },
        ...(cacheDays > 0 && { cache: { exp } }),
      }
    },
  })

/** Path of the version for monitoring, as in deployed key services; absent if a key has this name. */
const versionName = 'version'

/** `GET /ms_dke/version`: Microsoft's sample has none. */
const versionOperation = define({
  name: 'ms_dke.version',
  reach: ['reveal public'],
  route: get(`${dkePath}/${versionName}`),
  summary: 'The version of the key service',
  tag: 'Microsoft DKE',
  access: publicAccess,
  audited: false,
  reply: Type.String(),
  act: () => version,
})

/** Microsoft's sample returns only 400, 401 and 403 (KeysController.cs): 400 for a missing or unusable key. */
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
    const trial = config['ms_dke_config.ms_dke_trial_key']
    return {
      service_url: serviceUrl,
      key_urls: [...keys.keys()].map((name) => `${serviceUrl}/${name}`),
      keys: Object.fromEntries(keys),
      ...(trial !== undefined && { trial_key: trial }),
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
