import { httpsProblem } from '@warder/outbound'
import {
  boolean,
  integer,
  list,
  optionalInteger,
  optionalText,
  type SettingValues,
  text,
} from '@warder/runtime/settings'

/** A key as labels name it, and the version of it that new documents are protected with. */
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
    if (names.has(read.name)) return `the key ${read.name} is there twice`
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
    docs: 'Keys that labels name: `name=id`, the id of the RSA private key that is current. Older versions have the tag `dke:` and the name, and the same owner.',
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
        : 'must hold ids of tenants in lower case, as 2ec40e65-ba09-4853-bcde-bcb60029e596',
  }),
  'ms_dke_config.ms_dke_audience': optionalText({
    env: 'KMS_MS_DKE_AUDIENCE',
    flag: 'ms-dke-audience',
    docs: 'What `aud` of tokens has to be: the application id URI of the app registration, or its client id for tokens of version 2. Default: the origin of `kms_public_url`, with its port where that is not 443.',
  }),
  'ms_dke_config.ms_dke_authorization': text({
    default: 'https://login.windows.net/common/oauth2/authorize',
    env: 'KMS_MS_DKE_AUTHORIZATION',
    flag: 'ms-dke-authorization',
    docs: 'Where clients without a token are told to get one.',
    check: httpsProblem,
  }),
  'ms_dke_config.ms_dke_authority': text({
    default: 'https://login.microsoftonline.com',
    env: 'KMS_MS_DKE_AUTHORITY',
    flag: 'ms-dke-authority',
    docs: 'Where Entra publishes the keys of its tokens; another one in national clouds.',
    check: httpsProblem,
  }),
  'ms_dke_config.ms_dke_token_issuer': text({
    default: 'https://sts.windows.net',
    env: 'KMS_MS_DKE_TOKEN_ISSUER',
    flag: 'ms-dke-token-issuer',
    docs: 'Beginning of `iss` of tokens of version 1; the tenant follows. Another one in national clouds.',
    check: httpsProblem,
  }),
  'ms_dke_config.ms_dke_cache_days': integer({
    default: 1,
    min: 0,
    max: 365,
    env: 'KMS_MS_DKE_CACHE_DAYS',
    flag: 'ms-dke-cache-days',
    docs: 'Days that clients may keep a public key. 0: they ask for it each time that they protect a document.',
  }),
  'ms_dke_config.ms_dke_trial_key': optionalText({
    env: 'KMS_MS_DKE_TRIAL_KEY',
    flag: 'ms-dke-trial-key',
    docs: 'Id of the signing key of `npm run clouds -- microsoft`: its tokens decrypt with the key `warder-trial` alone. Unset: no trials.',
  }),
  'ms_dke_config.ms_dke_rate_limit_per_second': optionalInteger({
    min: 1,
    max: 1_000_000,
    env: 'KMS_MS_DKE_RATE_LIMIT_PER_SECOND',
    flag: 'ms-dke-rate-limit-per-second',
    docs: 'Requests a second that all users of `/ms_dke` together may make of this node; fetching public keys has as many of its own. Unset = no limit.',
  }),
} as const

export type MicrosoftConfig = SettingValues<typeof microsoftSettings>

/** @returns a sentence where it is enabled without what it needs */
export function microsoftSettingsProblem(config: MicrosoftConfig): string | undefined {
  if (!config['ms_dke_config.ms_dke_enable']) return undefined
  if (config['ms_dke_config.ms_dke_keys'].length > 0 && config['ms_dke_config.ms_dke_tenants'].length > 0)
    return undefined
  return 'ms_dke_config.ms_dke_enable needs ms_dke_config.ms_dke_keys and ms_dke_config.ms_dke_tenants: see warder external microsoft enable --help'
}
