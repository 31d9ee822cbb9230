import { type Logger, StartupError } from '@warder/base'
import type { IdentityConfig } from './configured.ts'

/** Whether `configuredSteps` will make one. Asked before the start, when none can be made yet. */
function hasMethod(config: IdentityConfig): boolean {
  return (
    config.vault_auth_verifier_url !== undefined ||
    config.clients_ca_cert_file !== undefined ||
    config.jwt_auth_provider.length > 0 ||
    hasVerifier(config) ||
    config.api_token_id !== undefined ||
    config['ui_config.ui_oidc_auth.ui_oidc_issuer_url'] !== undefined ||
    config['ui_config.ui_oidc_auth.ui_oidc_client_id'] !== undefined
  )
}

function hasVerifier(config: IdentityConfig): boolean {
  return config.auth_verifier_url !== undefined || config.auth_verifier_jwks !== undefined
}

/**
 * Refuses settings that restrict an unconfigured method: their administrator did not mean to admit all callers.
 * @throws StartupError that names the given and the required settings
 */
export function refuseHalfMethods(config: IdentityConfig): void {
  const verifier = 'auth_verifier_url or auth_verifier_jwks'
  if (!hasVerifier(config)) {
    if (config.auth_verifier_issuer !== undefined) throw halfSet('auth_verifier_issuer', verifier)
    if (config.auth_verifier_realm_without_aud !== undefined)
      throw halfSet('auth_verifier_realm_without_aud', verifier)
    if (config.auth_verifier_ca_cert !== undefined && config.vault_auth_verifier_url === undefined)
      throw halfSet(
        'auth_verifier_ca_cert',
        'auth_verifier_url, auth_verifier_jwks or vault_auth_verifier_url',
      )
    // The first run writes it for a service beside the authentication service; alone, client certificates are left.
    if (config.auth_verifier_realm !== undefined && !hasMethod(config))
      throw halfSet('auth_verifier_realm', verifier)
  }
  if (
    config.vault_api_enabled &&
    config.vault_auth_verifier_url === undefined &&
    config.auth_verifier_url === undefined
  )
    throw halfSet('vault_api_enabled', 'vault_auth_verifier_url or auth_verifier_url')
  const { auth_verifier_realm: realm, auth_verifier_realm_without_aud: withoutAud } = config
  if (realm !== undefined && withoutAud !== undefined && withoutAud !== realm)
    throw new StartupError(
      `auth_verifier_realm_without_aud is ${withoutAud}, and auth_verifier_realm accepts ${realm} alone: set the same realm`,
    )
  const oidc = 'ui_config.ui_oidc_auth'
  const [issuer, clientId] = [config[`${oidc}.ui_oidc_issuer_url`], config[`${oidc}.ui_oidc_client_id`]]
  if ((issuer === undefined) !== (clientId === undefined))
    throw new StartupError(`${oidc} requires both ui_oidc_issuer_url and ui_oidc_client_id, or neither`)
  if (issuer === undefined && config[`${oidc}.ui_oidc_client_secret`] !== undefined)
    throw halfSet(`${oidc}.ui_oidc_client_secret`, 'ui_oidc_issuer_url and ui_oidc_client_id')
}

function halfSet(given: string, required: string): StartupError {
  return new StartupError(`${given} requires ${required}: set what it requires, or remove ${given}`)
}

/** Logs warnings if the settings admit callers that the operator may not intend to admit. */
export function warnOfMethods(config: IdentityConfig, log: Logger): void {
  if (!hasMethod(config) && config.force_default_username) {
    log.warn(
      {},
      'force_default_username is set, but no authentication method is configured: every request is refused',
    )
  } else if (!hasMethod(config)) {
    log.warn(
      { default_username: config.default_username },
      'no authentication method is configured: every caller of this service is default_username',
    )
  } else if (config.auth_verifier_realm !== undefined && !hasVerifier(config)) {
    log.warn(
      {},
      'auth_verifier_realm has no effect: without auth_verifier_url or auth_verifier_jwks no session tokens are accepted',
    )
  }
}
