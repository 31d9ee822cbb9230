import { type DocumentedCredentials, peerSecretHeader } from '@warder/server'
import { sessionCookie } from './sessions/cookie.ts'

/** Security schemes of callers, as named in openapi.yaml. `service` are the credentials of `authenticateWith`. */
export const authCredentials: DocumentedCredentials = {
  schemes: {
    sessionCookie: { type: 'apiKey', in: 'cookie', name: sessionCookie },
    secretToken: { type: 'apiKey', in: 'header', name: 'X-Secret-Token' },
    vaultToken: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A machine token; for a login, a token of an identity provider of the realm.',
    },
    basic: { type: 'http', scheme: 'basic' },
    certificate: { type: 'mutualTLS' },
    peerSecret: {
      type: 'apiKey',
      in: 'header',
      name: peerSecretHeader,
      description: 'Of services of the installation.',
    },
  },
  service: ['sessionCookie', 'secretToken', 'vaultToken', 'bearer'],
}
