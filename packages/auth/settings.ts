import {
  boolean,
  httpsProblem,
  integer,
  list,
  noticeSettings,
  optionalText,
  type ServiceDefaults,
  type Setting,
  type SettingValues,
} from '@warder/runtime/settings'

/** For the common settings. */
export const authDefaults = {
  name: 'auth',
  port: 8443,
  bodyLimitBytes: 1_048_576,
} as const satisfies ServiceDefaults

const noticeSecret: Setting<string | undefined> = {
  type: 'secret',
  default: undefined,
  docs: 'Secret that signs those notices: at least 32 characters.',
}

/** Settings of the authentication service; the common ones (address, TLS, database, audit) are the runtime's. */
export const authSettings = {
  issuer: optionalText({
    docs: 'The `iss` claim of session tokens; unset: the base URL of the service.',
  }),
  publish_session_jwks: boolean({
    default: false,
    docs: 'Serve the public keys of session tokens at /.well-known/jwks.json.',
  }),
  certificate_signing: boolean({
    default: true,
    docs: 'Sign certificates at /certify, and serve the public keys at /.well-known/certificate-jwks.json.',
  }),
  login_rate_limit_per_second: integer({
    default: 20,
    min: 1,
    max: 100_000,
    docs: 'Maximum sustained rate of logins of all kinds, per second and address.',
  }),
  login_rate_limit_burst: integer({
    default: 100,
    min: 1,
    max: 1_000_000,
    docs: 'Maximum burst of logins of all kinds, per address.',
  }),
  password_hash_concurrency: integer({
    default: 0,
    min: 0,
    max: 256,
    docs: 'Maximum number of password hashes that one worker computes concurrently (64 MiB each); 0 = its share of the cores.',
  }),
  ...noticeSettings(['login.failed'], 'Kinds that are not named here are not sent.'),
  notice_webhook_url: optionalText({
    docs: 'Address (https) for notices, signed with `notice_webhook_secret`.',
    check: httpsProblem,
  }),
  notice_webhook_secret: noticeSecret,
  saml_sp_key_files: list({
    default: [],
    docs: 'RSA keys of the SAML service provider (PEM, at least 2048 bits), instead of generated ones: the first one signs, all of them decrypt and are published.',
  }),
  saml_sp_certificate_files: list({
    default: [],
    docs: 'Certificates of `saml_sp_key_files` (PEM), in the same order.',
  }),
  'admin_password_policy.minimum_length': integer({
    default: 0,
    min: 0,
    max: 1024,
    docs: 'Minimum length in characters of a password that an administrator sets in plain text; 0 = any length but empty.',
  }),
  'admin_password_policy.refuse_common': boolean({
    default: false,
    docs: 'Refuse the username and the most common passwords when an administrator sets a password in plain text.',
  }),
} as const

export type AuthConfig = SettingValues<typeof authSettings>
