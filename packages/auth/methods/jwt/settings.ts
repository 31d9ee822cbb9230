import Type from 'typebox'
import { methodSettings, nullable } from '../../realms/method-settings.ts'
import type { Realm } from '../../realms/realm.ts'
import { requireHttps } from '../../texts/plain-text.ts'

const IdentityProvider = Type.Object({
  jwt_issuer_uri: Type.String({ minLength: 1, maxLength: 2048 }),
  jwks_uri: Type.String({ minLength: 1, maxLength: 2048 }),
  jwt_audience: nullable(Type.String({ minLength: 1, maxLength: 2048 })),
})

/** The identity providers whose tokens a realm accepts. */
export const jwtSettings = methodSettings(
  'jwt_params',
  Type.Object({
    idp_params: Type.Array(IdentityProvider, { maxItems: 16 }),
    smallest_refresh_interval_seconds: nullable(Type.Integer({ minimum: 1, maximum: 86_400 })),
  }),
  (settings, at) => {
    for (const [index, { jwks_uri }] of settings.idp_params.entries()) {
      requireHttps(`${at}.idp_params[${index}].jwks_uri`, jwks_uri)
    }
    return settings
  },
)
export type JwtSettings = NonNullable<ReturnType<typeof jwtSettings.of>>

/** Lists the identity providers of a realm, each once, in the order of the realm. */
export function listIssuers(realm: Realm): readonly string[] {
  const providers = jwtSettings.of(realm)?.idp_params ?? []
  return [...new Set(providers.map(({ jwt_issuer_uri }) => jwt_issuer_uri))]
}
