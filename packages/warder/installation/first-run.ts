import { join } from 'node:path'
import { writeOnce } from '@warder/base'
import type { ServiceName } from '@warder/command-line/endpoints'
import { openSigningKey } from './signing-key.ts'

/** The configuration files of the first run, for the operator to edit. */
const files = {
  'auth.toml': `# Warder's authentication service. Every setting with its default: warder config print auth

# Other services, such as the kms, verify session tokens with the public keys at /.well-known/jwks.json.
publish_session_jwks = true
`,
  'kms.toml': `# Warder's key management service. Every setting with its default: warder config print kms

# Bearer tokens are sessions of the authentication service. Users of the realm _ have plain names, users of other
# realms the name realm/name. With auth_verifier_realm only that realm is accepted, with plain names.
# auth_verifier_realm = "_"

# Client certificates of the local authority identify callers; tls/client.crt is one for tests.
clients_ca_cert_file = "tls/ca.crt"
`,
} as const

/** Returns the settings file of the first run. */
export function getFirstConfiguration(service: ServiceName): string {
  return files[`${service}.toml`]
}

/** Writes missing configuration files; for a new home also creates the key that signs its backups. */
export function writeFirstConfiguration(home: string): void {
  const written = Object.entries(files).filter(([name, text]) => writeOnce(join(home, name), text))
  if (written.length > 0) openSigningKey(home)
}
