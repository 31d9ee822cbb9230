import { type AuthClient, type AuthClientOptions, authClientOver } from './auth-client.ts'
import { fetchTransport } from './fetch-transport.ts'
import { type KmsClient, type KmsClientOptions, kmsClientOver } from './kms-client.ts'

export * from './shared.ts'

// Entry of `@warder/client` for browser bundlers: it imports no module of Node.
const network = { transport: fetchTransport, keepsCookies: true }

/** A client of the key management service. @throws TypeError for options that cannot be used */
export function kmsClient(options: KmsClientOptions): KmsClient {
  return kmsClientOver(network, options)
}

/** A client of the authentication service. @throws TypeError for options that cannot be used */
export function authClient(options: AuthClientOptions): AuthClient {
  return authClientOver(network, options)
}
