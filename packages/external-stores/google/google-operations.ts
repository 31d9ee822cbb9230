import { failure, version } from '@warder/base'
import { publicAccess } from '@warder/keys'
import { type ErrorShape, get, post } from '@warder/server'
import Type from 'typebox'
import { define, type ExternalStore, type ExternalStoreServices } from '../scope/scope.ts'
import { byBothTokens, requireAuthorization } from './callers.ts'
import { delegationAudience } from './claims.ts'
import { common, denied, members, path, publishKey, roles, signClaims } from './operation-parts.ts'
import {
  privateKeyDecrypt,
  privateKeySign,
  privilegedPrivateKeyDecrypt,
  wrapPrivateKey,
} from './private-key-operations.ts'
import { rewrap } from './rewrap.ts'
import { checkGoogleSettings, createGoogleScope, type GoogleScope, toKaclsUrl } from './scope.ts'
import type { GoogleConfig } from './settings.ts'
import { digest, privilegedUnwrap, privilegedWrap, unwrap, wrap } from './wrap-operations.ts'
import { requireWrappingKey } from './wrapping-key.ts'

const operationsSupported = [
  'wrap',
  'unwrap',
  'digest',
  'rewrap',
  'privilegedwrap',
  'privilegedunwrap',
  'privatekeysign',
  'privatekeydecrypt',
  'privilegedprivatekeydecrypt',
  'wrapprivatekey',
  'delegate',
] as const

/** `GET /google_cse/status`: fails while the wrapping key or the signing key cannot be used. */
const status = (scope: GoogleScope) =>
  define({
    name: 'google_cse.status',
    reach: ['reveal public'],
    route: get(path('status')),
    summary: 'Status of the key service and its keys',
    tag: common.tag,
    access: publicAccess,
    audited: false,
    reply: Type.Object({
      name: Type.String(),
      vendor_id: Type.String(),
      version: Type.String(),
      server_type: Type.String(),
      operations_supported: Type.Array(Type.String()),
    }),
    async act(_input, { services }) {
      await requireUsable(services, scope)
      return {
        name: scope.name,
        vendor_id: 'Warder',
        version,
        server_type: 'KACLS',
        operations_supported: [...operationsSupported],
      }
    },
  })

async function requireUsable(
  services: ExternalStoreServices,
  { wrappingKey, signingKey }: GoogleScope,
): Promise<void> {
  try {
    await requireWrappingKey(services, wrappingKey)
    await publishKey(services, signingKey)
  } catch (cause) {
    throw failure('internal_error', 'a key of the scope cannot be used', { cause })
  }
}

/** `GET /google_cse/certs`: public keys with which other key services verify tokens of this service. */
const certs = (scope: GoogleScope) =>
  define({
    name: 'google_cse.certs',
    reach: ['reveal public'],
    route: get(path('certs')),
    summary: 'Public keys of the tokens that this key service signs',
    tag: common.tag,
    access: publicAccess,
    audited: false,
    reply: Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }),
    act: async (_input, { services }) => ({ keys: [await publishKey(services, scope.signingKey)] }),
  })

/** Google recommends 15 minutes ("KACLS authentication token for delegate"). */
const maxSeconds = 900

/** `POST /google_cse/delegate`: lets another user act for a user on one resource. */
const delegate = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.delegate',
    reach: ['make credential'],
    route: post(path('delegate')),
    summary: 'Delegate access to one resource to another user',
    authenticate: byBothTokens(scope),
    access: roles('reader', 'writer'),
    request: Type.Object({
      authentication: members.authentication,
      authorization: members.authorization,
      reason: members.reason,
    }),
    reply: Type.Object({ delegated_authentication: Type.String() }),
    errors: denied,
    async act(_input, context) {
      const { authentication: user, authorization } = requireAuthorization(context.request)
      const { delegatedTo, resourceName } = authorization
      if (user === undefined) throw failure('internal_error', 'no authentication token was asked for')
      if (user.delegation !== undefined)
        throw failure('forbidden', 'A delegated token cannot be delegated further.')
      if (delegatedTo === undefined)
        throw failure('bad_request', 'authorization: the token has no delegated_to.')
      const now = Math.floor(context.services.clock.now() / 1000)
      const delegated_authentication = await signClaims(context, scope.signingKey, {
        iss: scope.kaclsUrl,
        aud: delegationAudience,
        email: user.email,
        ...(user.guests && { guest: true }),
        ...(user.otherNames.some((name) => name !== user.email) && { also: user.otherNames }),
        delegated_to: delegatedTo,
        resource_name: resourceName,
        iat: now,
        exp: Math.min(now + maxSeconds, Math.floor(user.expiresAt)),
      })
      return { delegated_authentication }
    },
  })

/** Google's "Structured error replies": the status again, a sentence, and the request id in the log of this service. */
const googleErrors: ErrorShape = {
  documented: {
    contentType: 'application/json',
    schema: Type.Object({ code: Type.Integer(), message: Type.String(), details: Type.String() }),
  },
  reply: ({ status, message }, { id }) => ({
    status,
    json: { code: status, message, details: `request ${id}` },
  }),
}

/** Client-side encryption of Google Workspace: a key access control list service (KACLS). */
export const google: ExternalStore<GoogleConfig> = {
  name: 'google',
  title: 'Google Workspace CSE',
  enabled: (config) => config['google_cse_config.google_cse_enable'],
  ratePerSecond: (config) => config['google_cse_config.google_cse_rate_limit_per_second'],
  facts(config, baseUrl) {
    const wrapping = config['google_cse_config.google_cse_key']
    const signing = config['google_cse_config.google_cse_signing_key']
    const trial = config['google_cse_config.google_cse_trial_key']
    return {
      kacls_url: toKaclsUrl(config.kms_public_url ?? baseUrl),
      ...(wrapping !== undefined && { wrapping_key: wrapping }),
      ...(signing !== undefined && { signing_key: signing }),
      ...(trial !== undefined && { trial_key: trial }),
    }
  },
  securitySchemes: {
    googleTokens: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'In the body: `authentication` from the identity provider, `authorization` from Google.',
    },
  },
  errorShape: googleErrors,
  stopped: () => failure('forbidden', 'The operator of the key service stopped client-side encryption.'),
  operations(environment) {
    if (environment.config['google_cse_config.google_cse_enable']) checkGoogleSettings(environment)
    const scope = createGoogleScope(environment)
    return [
      status,
      certs,
      wrap,
      unwrap,
      digest,
      rewrap,
      privilegedWrap,
      privilegedUnwrap,
      privateKeySign,
      privateKeyDecrypt,
      privilegedPrivateKeyDecrypt,
      wrapPrivateKey,
      delegate,
    ].map((operation) => operation(scope))
  },
}
