import { endpointOptions } from '../kms/service-endpoints.ts'

/** Options of `warder login`, `logout` and `whoami`: where, and how. */
export const sessionOptions = {
  ...endpointOptions,
  json: { type: 'flag', help: 'prints one JSON document instead of lines for people' },
} as const

export const loginOptions = {
  realm: { type: 'text', value: 'R', help: 'the realm to log in to (default _)' },
  user: { type: 'text', value: 'U', help: 'who logs in (default admin)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the password; - is standard input
else WARDER_PASSWORD, else (for admin of _) HOME/initial-admin-password, else a question`,
  },
  'totp-code': { type: 'text', value: 'CODE', help: 'code of the second factor, else a question' },
  saml: {
    type: 'flag',
    help: `logs in with a browser, at the identity provider of the realm (--realm), within 5 minutes; the realm has to
allow http://127.0.0.1 (allowed_return_origins)`,
  },
  'no-browser': { type: 'flag', help: 'with --saml: prints the address, and opens no browser' },
  'token-file': {
    type: 'text',
    value: 'F',
    help: `keeps a token that you have: of a session, of an issuer that the service trusts, an API token, or
a machine token (wt.…); - is standard input`,
  },
  approle: {
    type: 'flag',
    help: 'a machine logs in, with a role id and a secret id',
  },
  'role-id-file': { type: 'text', value: 'F', help: 'file with the role id, else WARDER_ROLE_ID' },
  'secret-id-file': {
    type: 'text',
    value: 'F',
    help: `file with the secret id, else WARDER_SECRET_ID; - is standard input
neither: a role that needs none`,
  },
  'no-keyring': { type: 'flag', help: "does not ask the system's keyring: the token stays in the file" },
} as const
