/** Options of every verb: the account. */
export const adminAccountOptions = {
  admin: {
    type: 'text',
    value: 'NAME',
    help: 'name of the administrator (default: the session of warder login, else admin)',
  },
  'admin-realm': { type: 'text', value: 'R', help: 'realm of the administrator (default _)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the password; - is standard input
(default: WARDER_ADMIN_PASSWORD, else for admin of _ HOME/initial-admin-password, else a prompt)`,
  },
  'totp-code': {
    type: 'text',
    value: 'CODE',
    help: 'code of the second factor (default: WARDER_ADMIN_TOTP, else a prompt)',
  },
} as const

/** Options of every verb: the service and the output. */
export const adminServiceOptions = {
  home: { type: 'text', value: 'DIR', help: 'home of the running services on this machine' },
  url: { type: 'text', value: 'URL', help: 'address of another service: https://auth.example.com:8443' },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: "certificate authority to trust (default: from HOME/endpoints.json; with --url the system's)",
  },
  json: { type: 'flag', help: 'prints one JSON document instead of a table' },
  yes: { type: 'flag', help: 'does not ask before something is replaced, ended or deleted' },
} as const

export const adminOptions = { ...adminAccountOptions, ...adminServiceOptions } as const
