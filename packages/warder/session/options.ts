import { endpointOptions } from '../kms/service-endpoints.ts'

/** Options of `warder login`, `logout` and `whoami`: services and output. */
export const sessionOptions = {
  ...endpointOptions,
  json: { type: 'flag', help: 'prints one JSON document instead of text' },
} as const

export const loginOptions = {
  realm: { type: 'text', value: 'R', help: 'the realm to log in to (default _)' },
  user: { type: 'text', value: 'U', help: 'user to log in (default admin)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the password; - is standard input
(default: WARDER_PASSWORD, else for admin of _ HOME/initial-admin-password, else a prompt)`,
  },
  'totp-code': { type: 'text', value: 'CODE', help: 'code of the second factor (default: a prompt)' },
  saml: {
    type: 'flag',
    help: `logs in with a browser at the identity provider of --realm, within 5 minutes;
allowed_return_origins of the realm must contain http://127.0.0.1`,
  },
  'no-browser': { type: 'flag', help: 'with --saml: only prints the address' },
  'token-file': {
    type: 'text',
    value: 'F',
    help: `stores an existing token: of a session, of a trusted issuer, an API token, or a machine token
(wt.…); - is standard input`,
  },
  approle: {
    type: 'flag',
    help: 'logs in a machine with a RoleID and a SecretID',
  },
  'role-id-file': { type: 'text', value: 'F', help: 'file with the RoleID (default: WARDER_ROLE_ID)' },
  'secret-id-file': {
    type: 'text',
    value: 'F',
    help: `file with the SecretID; - is standard input
(default: WARDER_SECRET_ID, else none, for a role that needs none)`,
  },
  'no-keyring': { type: 'flag', help: 'does not use the keyring of the system; the file contains the token' },
} as const
