import {
  boolean,
  httpsProblem,
  integer,
  list,
  optionalInteger,
  optionalText,
  type SettingValues,
  text,
} from '@warder/runtime/settings'

/** A key by its name in labels, and the version that protects new documents. */
export interface NamedKey {
  readonly name: string
  /** Id of the RSA private key. */
  readonly kid: string
}

/** Reads `name=kid`. */
export function readNamedKey(text: string): NamedKey | undefined {
  const [, name, kid] = /^([A-Za-z0-9][A-Za-z0-9_-]{0,63})=(\S{1,256})$/.exec(text) ?? []
  return name === undefined || kid === undefined ? undefined : { name, kid }
}

function keysProblem(keys: readonly string[]): string | undefined {
  const names = new Set<string>()
  for (const key of keys) {
    const read = readNamedKey(key)
    if (read === undefined) return `${key} is not a name (letters, digits, - and _), = and the id of a key`
    if (names.has(read.name)) return `the key ${read.name} appears twice`
    names.add(read.name)
  }
  return undefined
}

const tenantId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Settings of Microsoft Double Key Encryption. */
export const microsoftSettings = {
  'ms_dke_config.ms_dke_enable': boolean({
    default: false,
    env: 'KMS_MS_DKE_ENABLE',
    flag: 'ms-dke-enable',
    docs: 'Serve `/ms_dke`: Double Key Encryption of Microsoft 365 with keys of this service. See docs/how-to/external-microsoft.md.',
  }),
  'ms_dke_config.ms_dke_keys': list({
    default: [],
    env: 'KMS_MS_DKE_KEYS',
    flag: 'ms-dke-keys',
    docs: 'Keys by their names in labels: `name=id`, the id of the current RSA private key. Older versions have the tag `dke:` and the name, and the same owner.',
    check: keysProblem,
  }),
  'ms_dke_config.ms_dke_tenants': list({
    default: [],
    env: 'KMS_MS_DKE_TENANTS',
    flag: 'ms-dke-tenants',
    docs: 'Ids of the Entra tenants whose users may decrypt.',
    check: (tenants) =>
      tenants.every((tenant) => tenantId.test(tenant))
        ? undefined
        : 'must contain tenant ids in lower case like 2ec40e65-ba09-4853-bcde-bcb60029e596',
  }),
  'ms_dke_config.ms_dke_audience': optionalText({
    env: 'KMS_MS_DKE_AUDIENCE',
    flag: 'ms-dke-audience',
    docs: 'Required `aud` of tokens: the application id URI of the app registration, or its client id for tokens of version 2. Default: the origin of `kms_public_url`, with its port if that is not 443.',
  }),
  'ms_dke_config.ms_dke_authorization': text({
    default: 'https://login.windows.net/common/oauth2/authorize',
    env: 'KMS_MS_DKE_AUTHORIZATION',
    flag: 'ms-dke-authorization',
    docs: 'Address at which clients get a token, sent to clients without one.',
    check: httpsProblem,
  }),
  'ms_dke_config.ms_dke_authority': text({
    default: 'https://login.microsoftonline.com',
    env: 'KMS_MS_DKE_AUTHORITY',
    flag: 'ms-dke-authority',
    docs: 'Key set of Entra; differs in national clouds.',
    check: httpsProblem,
  }),
  'ms_dke_config.ms_dke_token_issuer': text({
    default: 'https://sts.windows.net',
    env: 'KMS_MS_DKE_TOKEN_ISSUER',
    flag: 'ms-dke-token-issuer',
    docs: 'Prefix of `iss` of tokens of version 1, before the tenant; differs in national clouds.',
    check: httpsProblem,
  }),
  'ms_dke_config.ms_dke_cache_days': integer({
    default: 1,
    min: 0,
    max: 365,
    env: 'KMS_MS_DKE_CACHE_DAYS',
    flag: 'ms-dke-cache-days',
    docs: 'Days for which clients may cache a public key. 0: they fetch it for each document.',
  }),
  'ms_dke_config.ms_dke_trial_key': optionalText({
    env: 'KMS_MS_DKE_TRIAL_KEY',
    flag: 'ms-dke-trial-key',
    docs: 'Id of the signing key of `npm run clouds -- microsoft`: its tokens decrypt only with the key `warder-trial`. Unset: no trials.',
  }),
  'ms_dke_config.ms_dke_rate_limit_per_second': optionalInteger({
    min: 1,
    max: 1_000_000,
    env: 'KMS_MS_DKE_RATE_LIMIT_PER_SECOND',
    flag: 'ms-dke-rate-limit-per-second',
    docs: 'Maximum requests per second of all users of `/ms_dke` together on this node; fetching public keys has a separate limit of the same size. Unset = no limit.',
  }),
} as const

export type MicrosoftConfig = SettingValues<typeof microsoftSettings>

/** @returns an error message if it is enabled without a setting that it requires */
export function microsoftSettingsProblem(config: MicrosoftConfig): string | undefined {
  if (!config['ms_dke_config.ms_dke_enable']) return undefined
  if (config['ms_dke_config.ms_dke_keys'].length > 0 && config['ms_dke_config.ms_dke_tenants'].length > 0)
    return undefined
  return 'ms_dke_config.ms_dke_enable requires ms_dke_config.ms_dke_keys and ms_dke_config.ms_dke_tenants: see warder external microsoft enable --help'
}
