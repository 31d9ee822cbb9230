import { join } from 'node:path'
import { writeOnce } from '@warder/foundation/runtime'

/** The configuration that the first run writes; whoever runs Warder edits it. */
const files = {
  'auth.toml': `# Warder's authentication service. Every setting with its default: warder config print auth

# Others (the kms among them) check session tokens with the public keys at /.well-known/jwks.json.
publish_session_jwks = true
`,
  'kms.toml': `# Warder's key management service. Every setting with its default: warder config print kms

# Bearer tokens are sessions of the realm _ at the authentication service. Users of other realms are strangers until
# they are let in; a name means one user, so let in only a realm whose names you trust. Unset = every realm.
auth_verifier_realm = "_"

# Client certificates of the local authority (tls/client.crt is one to try) tell who a caller is.
clients_ca_cert_file = "tls/ca.crt"
`,
} as const

/** Writes the configuration files that are missing. */
export function writeFirstConfiguration(home: string): void {
  for (const [name, text] of Object.entries(files)) writeOnce(join(home, name), text)
}
