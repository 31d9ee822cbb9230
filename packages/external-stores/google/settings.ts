import { foldEmail } from '@warder/keys/settings'
import {
  boolean,
  httpsProblem,
  list,
  optionalInteger,
  optionalText,
  readProviderText,
  type SettingValues,
  text,
} from '@warder/runtime/settings'

function providersProblem(providers: readonly string[]): string | undefined {
  for (const provider of providers) {
    const read = readProviderText(provider)
    if ('problem' in read) return read.problem
    const wrong = httpsProblem(read.keySet)
    if (wrong !== undefined) return `has the key set ${read.keySet}, which ${wrong}`
    if (read.audiences === undefined) return `must contain an audience for ${read.issuer}`
  }
  return undefined
}

function firstProblem(values: readonly string[], problem: (value: string) => string | undefined) {
  for (const value of values) {
    const wrong = problem(value)
    if (wrong !== undefined) return `${value} ${wrong}`
  }
  return undefined
}

const addressProblem = (email: string): string | undefined =>
  foldEmail(email) === undefined ? 'is not an e-mail address' : undefined

/** Settings of client-side encryption for Google Workspace. */
export const googleSettings = {
  'google_cse_config.google_cse_enable': boolean({
    env: 'KMS_GOOGLE_CSE_ENABLE',
    flag: 'google-cse-enable',
    default: false,
    docs: 'Serve `/google_cse`: client-side encryption of Google Workspace with keys of this service. See docs/how-to/external-google.md.',
  }),
  'google_cse_config.google_cse_key': optionalText({
    env: 'KMS_GOOGLE_CSE_KEY',
    flag: 'google-cse-key',
    docs: 'Id of the current AES wrapping key of 256 bits. Older ones still unwrap while they are granted to `google:*` and have the same owner.',
  }),
  'google_cse_config.google_cse_signing_key': optionalText({
    env: 'KMS_GOOGLE_CSE_SIGNING_KEY',
    flag: 'google-cse-signing-key',
    docs: 'Id of the RSA private key that signs tokens for delegation and migration; `/google_cse/certs` publishes it. It cannot be used to sign anything else.',
  }),
  'google_cse_config.google_cse_trial_key': optionalText({
    env: 'KMS_GOOGLE_CSE_TRIAL_KEY',
    flag: 'google-cse-trial-key',
    docs: 'Id of the signing key of `npm run clouds -- google`: its tokens are accepted only for trial resources. Unset: no trials.',
  }),
  'google_cse_config.google_cse_owner_domain': optionalText({
    env: 'KMS_GOOGLE_CSE_OWNER_DOMAIN',
    flag: 'google-cse-owner-domain',
    docs: 'Google Workspace domain of the owner: tokens that name another `kacls_owner_domain` are refused.',
  }),
  'google_cse_config.google_cse_identity_providers': list({
    env: 'KMS_GOOGLE_CSE_IDENTITY_PROVIDERS',
    flag: 'google-cse-identity-providers',
    default: [],
    separator: /[;\n]/,
    docs: 'Identity providers of the users: `issuer,key set,audience…`, the key set an https address. In the variable and the flag, separate them by semicolons or line breaks.',
    check: providersProblem,
  }),
  'google_cse_config.google_cse_guest_identity_providers': list({
    env: 'KMS_GOOGLE_CSE_GUEST_IDENTITY_PROVIDERS',
    flag: 'google-cse-guest-identity-providers',
    default: [],
    separator: /[;\n]/,
    docs: 'Identity providers of guests, whom Google calls `google-visitor` or `customer-idp`. Empty: no guests.',
    check: providersProblem,
  }),
  'google_cse_config.google_cse_administrators': list({
    env: 'KMS_GOOGLE_CSE_ADMINISTRATORS',
    flag: 'google-cse-administrators',
    default: [],
    docs: 'E-mail addresses of users of these providers who may open exported data, import in bulk and wrap private keys.',
    check: (emails) => firstProblem(emails, addressProblem),
  }),
  'google_cse_config.google_cse_incoming_url_whitelist': list({
    env: 'KMS_GOOGLE_CSE_INCOMING_URL_WHITELIST',
    flag: 'google-cse-incoming-url-whitelist',
    default: [],
    docs: 'Addresses (https) of other key services for the migration of keys. Empty: none.',
    check: (urls) => firstProblem(urls, httpsProblem),
  }),
  'google_cse_config.google_cse_authorization_keys': text({
    env: 'KMS_GOOGLE_CSE_AUTHORIZATION_KEYS',
    flag: 'google-cse-authorization-keys',
    default: 'https://www.googleapis.com/service_accounts/v1/jwk/',
    docs: "Address of the keys of Google's token issuers; the name of the issuer is appended.",
    check: httpsProblem,
  }),
  'google_cse_config.google_cse_name': text({
    env: 'KMS_GOOGLE_CSE_NAME',
    flag: 'google-cse-name',
    default: 'Warder',
    docs: 'Name of this instance in `/google_cse/status`.',
  }),
  'google_cse_config.google_cse_rate_limit_per_second': optionalInteger({
    env: 'KMS_GOOGLE_CSE_RATE_LIMIT_PER_SECOND',
    flag: 'google-cse-rate-limit-per-second',
    min: 1,
    max: 1_000_000,
    docs: 'Maximum requests per second of all users of `/google_cse` together on this node; `status` and `certs` have a separate limit of the same size. Unset = no limit.',
  }),
} as const

const needed = [
  'google_cse_config.google_cse_key',
  'google_cse_config.google_cse_signing_key',
  'google_cse_config.google_cse_owner_domain',
] as const

/** @returns an error message if it is enabled without a setting that it requires */
export function googleSettingsProblem(config: GoogleConfig): string | undefined {
  if (!config['google_cse_config.google_cse_enable']) return undefined
  const missing = needed.filter((name) => config[name] === undefined)
  if (missing.length === 0) {
    if (
      config['google_cse_config.google_cse_trial_key'] !== config['google_cse_config.google_cse_signing_key']
    )
      return undefined
    return 'google_cse_config.google_cse_trial_key must differ from google_cse_config.google_cse_signing_key'
  }
  return `google_cse_config.google_cse_enable requires ${missing.join(' and ')}: see warder external google enable --help`
}

export type GoogleConfig = SettingValues<typeof googleSettings>
