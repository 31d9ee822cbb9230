/** Options of every verb: who runs it. */
export const adminAccountOptions = {
  admin: {
    type: 'text',
    value: 'NAME',
    help: 'the administrator (default: the session of warder login, else admin)',
  },
  'admin-realm': { type: 'text', value: 'R', help: 'the realm that they log in to (default _)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with their password; - is standard input
else WARDER_ADMIN_PASSWORD, else (for admin of _) HOME/initial-admin-password, else a question`,
  },
  'totp-code': {
    type: 'text',
    value: 'CODE',
    help: 'code of their second factor, else WARDER_ADMIN_TOTP, else a question',
  },
} as const

/** Options of every verb: where, and how. */
export const adminServiceOptions = {
  home: { type: 'text', value: 'DIR', help: 'home of the started services on this machine' },
  url: { type: 'text', value: 'URL', help: 'another service instead: https://auth.example.com:8443' },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: "certificate authority to trust (default: as HOME/endpoints.json says; with --url the system's)",
  },
  json: { type: 'flag', help: 'prints one JSON document instead of a table' },
  yes: { type: 'flag', help: 'does not ask before something is replaced, ended or deleted' },
} as const

export const adminOptions = { ...adminAccountOptions, ...adminServiceOptions } as const
