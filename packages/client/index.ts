import { type AuthClient, type AuthClientOptions, authClientOver } from './auth-client.ts'
import { httpsTransport } from './https-transport.ts'
import { type KmsClient, type KmsClientOptions, kmsClientOver } from './kms-client.ts'

export { httpsTransport } from './https-transport.ts'
export * from './shared.ts'

const network = { transport: httpsTransport, keepsCookies: false }

/** A client of the key management service. @throws TypeError for options that cannot be used */
export function kmsClient(options: KmsClientOptions): KmsClient {
  return kmsClientOver(network, options)
}

/** A client of the authentication service. @throws TypeError for options that cannot be used */
export function authClient(options: AuthClientOptions): AuthClient {
  return authClientOver(network, options)
}
