import type { SecurityScheme } from '@warder/server'
import type { Credential } from './cascade.ts'
import { sessionCookieName } from './session-cookie.ts'

/** Credentials of the service's own callers, as openapi.yaml names them. */
export const identitySchemes: Readonly<Record<string, SecurityScheme>> = {
  bearer: { type: 'http', scheme: 'bearer' },
  secretToken: { type: 'apiKey', in: 'header', name: 'X-Secret-Token' },
  vaultToken: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' },
  certificate: { type: 'mutualTLS' },
  sessionCookie: { type: 'apiKey', in: 'cookie', name: sessionCookieName },
}

const byCredential: Readonly<Record<Credential, readonly string[]>> = {
  'bearer token': ['bearer'],
  'app token': ['secretToken', 'vaultToken'],
  'client certificate': ['certificate'],
  'session cookie': ['sessionCookie'],
}

/** Schemes of credentials. @param credentials that the settings accept; undefined: all */
export function listSchemes(credentials?: ReadonlySet<Credential>): readonly string[] {
  return Object.entries(byCredential).flatMap(([credential, schemes]) =>
    credentials === undefined || credentials.has(credential as Credential) ? schemes : [],
  )
}
