import { failure } from '@warder/foundation/errors'
import Type, { type Static } from 'typebox'

const nullable = <T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

const IdentityProvider = Type.Object({
  jwt_issuer_uri: Type.String({ minLength: 1, maxLength: 2048 }),
  jwks_uri: Type.String({ minLength: 1, maxLength: 2048 }),
  jwt_audience: nullable(Type.String({ minLength: 1, maxLength: 2048 })),
})

/** `auth_params` of a realm as callers send it. A member that is absent or null leaves that way of login closed. */
export const AuthParams = Type.Object({
  username_password_params: nullable(Type.Object({ allow_expired_passwords: Type.Boolean() })),
  jwt_params: nullable(
    Type.Object({
      idp_params: Type.Array(IdentityProvider, { maxItems: 16 }),
      smallest_refresh_interval_seconds: nullable(Type.Integer({ minimum: 1, maximum: 86_400 })),
    }),
  ),
  totp_params: nullable(
    Type.Object({
      algorithm: Type.Optional(Type.String()),
      step: Type.Optional(Type.Integer({ minimum: 5, maximum: 300 })),
    }),
  ),
  client_certificate_params: nullable(
    Type.Object({
      allowed_common_names: nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 10_000 }),
      ),
    }),
  ),
  saml_params: Type.Optional(Type.Unknown()),
})
export type AuthParamsInput = Static<typeof AuthParams>

export type TotpAlgorithm = 'SHA1' | 'SHA256' | 'SHA512'

export interface IdentityProviderParams {
  readonly jwt_issuer_uri: string
  readonly jwks_uri: string
  readonly jwt_audience?: string
}

/** `auth_params` as kept and answered: checked, unset members absent. */
export interface AuthSettings {
  readonly username_password_params?: { readonly allow_expired_passwords: boolean }
  readonly jwt_params?: {
    readonly idp_params: readonly IdentityProviderParams[]
    readonly smallest_refresh_interval_seconds?: number
  }
  readonly totp_params?: { readonly algorithm: TotpAlgorithm; readonly step: number }
  readonly client_certificate_params?: { readonly allowed_common_names?: readonly string[] }
}

/**
 * Checks what a schema cannot say and drops what is unknown or unset.
 * @throws failure('bad_request') that names the member
 */
export function readAuthParams(input: AuthParamsInput): AuthSettings {
  if (input.saml_params !== undefined && input.saml_params !== null) {
    throw failure('bad_request', 'auth_params.saml_params: SAML sign-on is not available on this server.')
  }
  const settings: { -readonly [Key in keyof AuthSettings]: AuthSettings[Key] } = {}
  const { username_password_params, jwt_params, totp_params, client_certificate_params } = input
  if (username_password_params) {
    settings.username_password_params = {
      allow_expired_passwords: username_password_params.allow_expired_passwords,
    }
  }
  if (jwt_params) settings.jwt_params = readJwtParams(jwt_params)
  if (totp_params) {
    settings.totp_params = {
      algorithm: readTotpAlgorithm(totp_params.algorithm ?? 'SHA1'),
      step: totp_params.step ?? 30,
    }
  }
  if (client_certificate_params) {
    const names = client_certificate_params.allowed_common_names
    settings.client_certificate_params = names ? { allowed_common_names: names } : {}
  }
  return settings
}

function readJwtParams(
  params: NonNullable<AuthParamsInput['jwt_params']>,
): NonNullable<AuthSettings['jwt_params']> {
  const idp_params = params.idp_params.map((provider, index): IdentityProviderParams => {
    const at = `auth_params.jwt_params.idp_params[${index}]`
    requireHttps(`${at}.jwks_uri`, provider.jwks_uri)
    const { jwt_issuer_uri, jwks_uri, jwt_audience } = provider
    return jwt_audience ? { jwt_issuer_uri, jwks_uri, jwt_audience } : { jwt_issuer_uri, jwks_uri }
  })
  const interval = params.smallest_refresh_interval_seconds
  return interval ? { idp_params, smallest_refresh_interval_seconds: interval } : { idp_params }
}

/** Key sets are fetched over https only; a user name or password in a URL would end up in logs. */
export function requireHttps(member: string, text: string): void {
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw failure('bad_request', `${member}: must be an https URL without user name or password.`)
  }
}

function readTotpAlgorithm(name: string): TotpAlgorithm {
  const upper = name.toUpperCase()
  if (upper === 'SHA1' || upper === 'SHA256' || upper === 'SHA512') return upper
  throw failure('bad_request', 'auth_params.totp_params.algorithm: must be SHA1, SHA256 or SHA512.')
}
