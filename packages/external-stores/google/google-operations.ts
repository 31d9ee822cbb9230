import { failure } from '@warder/base'
import type { ErrorShape } from '@warder/server'
import Type from 'typebox'
import type { ExternalStore } from '../scope/store.ts'
import { delegate } from './operations/delegate.ts'
import { digest } from './operations/digest.ts'
import { privateKeyDecrypt, privateKeySign, privilegedPrivateKeyDecrypt } from './operations/private-keys.ts'
import { privilegedUnwrap, privilegedWrap } from './operations/privileged.ts'
import { rewrap } from './operations/rewrap.ts'
import { certs, status } from './operations/status.ts'
import { unwrap } from './operations/unwrap.ts'
import { wrap } from './operations/wrap.ts'
import { wrapPrivateKey } from './operations/wrap-private-key.ts'
import { checkGoogleSettings, createGoogleScope, toKaclsUrl } from './scope/scope.ts'
import type { GoogleConfig } from './scope/settings.ts'

/** Google's "Structured error replies": the status again, a sentence, and by what our log names the request. */
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
  facts: (config, baseUrl) => ({
    kacls_url: toKaclsUrl(config.kms_public_url ?? baseUrl),
    wrapping_key: config['google_cse_config.google_cse_key'],
    signing_key: config['google_cse_config.google_cse_signing_key'],
    trial_key: config['google_cse_config.google_cse_trial_key'],
  }),
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
