import { isIP } from 'node:net'
import {
  boolean,
  choice,
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

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domain = new RegExp(`^${label}(?:\\.${label})*$`)
const aaguidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

function rpIdProblem(id: string): string | undefined {
  const isDomain = id.length <= 253 && domain.test(id) && isIP(id) === 0
  return isDomain ? undefined : 'must be a domain in lower case, without scheme and port'
}

function originsProblem(origins: readonly string[]): string | undefined {
  const isOrigin = (text: string): boolean => text.startsWith('https://') && URL.parse(text)?.origin === text
  const wrong = origins.find((origin) => !isOrigin(origin))
  return wrong === undefined
    ? undefined
    : `must be https origins such as https://login.example.com, not ${wrong}`
}

function aaguidsProblem(aaguids: readonly string[]): string | undefined {
  const wrong = aaguids.find((aaguid) => !aaguidForm.test(aaguid))
  return wrong === undefined ? undefined : `must be UUIDs, not ${wrong}`
}

/** Settings of the authentication service; the common ones (address, TLS, database, audit) are the runtime's. */
export const authSettings = {
  issuer: optionalText({
    docs: 'The `iss` claim of session tokens; unset: the base URL of the service.',
  }),
  kms_public_url: optionalText({
    docs: 'Address (https) of the key management service for browsers, to which the web page leads; unset: that of the service that was started together with this one, else none.',
    check: httpsProblem,
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
  passkey_rp_id: optionalText({
    docs: 'WebAuthn RP ID of passkeys: a domain. Unset: the host name of `issuer` if it is an https URL, else of the base URL; `localhost` for a loopback address. Passkeys belong to the RP ID with which they were registered.',
    check: rpIdProblem,
  }),
  passkey_origins: list({
    default: [],
    docs: 'Origins of pages that may use passkeys: their hosts are the RP ID or its subdomains. Empty: the origin of the address from which the RP ID is derived.',
    check: originsProblem,
  }),
  passkey_attestation: choice({
    default: 'none',
    choices: ['none', 'direct'],
    docs: 'Attestation of new passkeys: `none` accepts every authenticator, `direct` only models of `passkey_aaguids` that prove themselves with a certificate of `passkey_attestation_ca_files` (attestation format `packed`).',
  }),
  passkey_aaguids: list({
    default: [],
    docs: 'Permitted models of authenticators (AAGUID), for `passkey_attestation = "direct"`.',
    check: aaguidsProblem,
  }),
  passkey_attestation_ca_files: list({
    default: [],
    docs: 'Certificates of the authorities of these models (PEM).',
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
