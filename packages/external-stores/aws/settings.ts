import {
  boolean,
  integer,
  list,
  optionalInteger,
  optionalText,
  type Setting,
  type SettingValues,
  text,
} from '@warder/runtime/settings'

const secret: Setting<string | undefined> = {
  type: 'secret',
  default: undefined,
  env: 'KMS_AWS_XKS_SIGV4_SECRET_ACCESS_KEY',
  flag: 'aws-xks-sigv4-secret-access-key',
  docs: 'Its secret: 43 to 64 letters, digits, `+`, `/` and `=`.',
  check: (value) =>
    /^[A-Za-z0-9+/=]{43,64}$/.test(value) ? undefined : 'it must be 43 to 64 letters, digits, +, / and =',
}

const accessKeySettings = [
  'aws_xks_config.aws_xks_region',
  'aws_xks_config.aws_xks_sigv4_access_key_id',
  'aws_xks_config.aws_xks_sigv4_secret_access_key',
] as const

/** @returns an error message if an access key, or the client certificate of AWS KMS, is configured only in part */
export function awsSettingsProblem(
  config: SettingValues<typeof awsSettings> & { readonly plaintext_http: boolean },
): string | undefined {
  const missing = accessKeySettings.filter((name) => config[name] === undefined)
  if (missing.length > 0 && missing.length < accessKeySettings.length)
    return `an access key of AWS KMS requires ${accessKeySettings.join(', ')}: set ${missing.join(' and ')}`
  const names = config['aws_xks_config.aws_xks_client_names']
  const file = config['aws_xks_config.aws_xks_client_ca_cert_file']
  const hosts = config['aws_xks_config.aws_xks_server_names']
  if (hosts.length > 0 && names.length === 0)
    return 'aws_xks_server_names requires aws_xks_config.aws_xks_client_names, which is empty'
  if (names.length === 0 && file === undefined) return undefined
  if (names.length === 0)
    return 'aws_xks_client_ca_cert_file requires aws_xks_config.aws_xks_client_names, which is empty'
  if (file === undefined)
    return 'aws_xks_client_names requires aws_xks_config.aws_xks_client_ca_cert_file, which is not set'
  if (config.plaintext_http)
    return 'aws_xks_client_names needs client certificates: it cannot be used with plaintext_http'
  return undefined
}

/** Returns the reason why this cannot be the path before `/kms/xks/v1` (XKS Proxy API, API operations). */
export function uriPrefixProblem(prefix: string): string | undefined {
  const formed = prefix === '' || /^(?:\/[A-Za-z0-9_-]+)+$/.test(prefix)
  // 128 with `/kms/xks/v1`.
  if (formed && prefix.length <= 117) return undefined
  return 'a path prefix must be empty, or at most 117 letters, digits, slashes, dashes and underscores, with a slash at the start and none at the end'
}

/** Returns the reason why this cannot be an AWS region. */
export function regionProblem(region: string): string | undefined {
  if (/^[a-z]{2,3}(?:-[a-z]+)+-\d{1,2}$/.test(region)) return undefined
  return 'a region must be written like eu-west-1'
}

/** Settings of the AWS XKS proxy. Their names are those of the deployed peer, if it has them. */
export const awsSettings = {
  'aws_xks_config.aws_xks_enable': boolean({
    default: false,
    env: 'KMS_AWS_XKS_ENABLE',
    flag: 'aws-xks-enable',
    docs: 'Serve the AWS XKS proxy API: AWS KMS may use keys that are granted to `aws:…`.',
  }),
  'aws_xks_config.aws_xks_uri_path_prefixes': list({
    default: ['/aws'],
    env: 'KMS_AWS_XKS_URI_PATH_PREFIXES',
    flag: 'aws-xks-uri-path-prefixes',
    docs: 'Paths before `/kms/xks/v1`, one for each external key store. Each access key belongs to one of them.',
    check(prefixes) {
      if (new Set(prefixes).size !== prefixes.length) return 'each path prefix must be unique'
      if (prefixes.length === 0 || prefixes.length > 32) return 'it must have 1 to 32 path prefixes'
      return prefixes.map(uriPrefixProblem).find((problem) => problem !== undefined)
    },
  }),
  'aws_xks_config.aws_xks_service': text({
    default: 'kms-xks-proxy',
    env: 'KMS_AWS_XKS_SERVICE',
    flag: 'aws-xks-service',
    docs: 'The service in the scope of signatures. AWS KMS writes the default.',
  }),
  'aws_xks_config.aws_xks_fleet_size': integer({
    default: 1,
    min: 1,
    max: 1000,
    env: 'KMS_AWS_XKS_FLEET_SIZE',
    flag: 'aws-xks-fleet-size',
    docs: 'Number of nodes behind the address of AWS KMS: health checks report it, and AWS shows a single node as a risk.',
  }),
  'aws_xks_config.aws_xks_rate_limit_per_second': optionalInteger({
    env: 'KMS_AWS_XKS_RATE_LIMIT_PER_SECOND',
    flag: 'aws-xks-rate-limit-per-second',
    min: 1,
    max: 1_000_000,
    docs: 'Maximum requests per second from AWS KMS on one node; further ones are throttled. AWS KMS sends 1800 unless another quota was agreed. Unset = no limit.',
  }),
  'aws_xks_config.aws_xks_client_names': list({
    default: [],
    env: 'KMS_AWS_XKS_CLIENT_NAMES',
    flag: 'aws-xks-client-names',
    docs: 'Subject Common Names of AWS KMS: `cks.kms.eu-west-1.amazonaws.com` of that region. If set, a request needs a client certificate with one of them in addition to its signature, so that a stolen secret access key is not sufficient. Empty: the signature is sufficient.',
  }),
  'aws_xks_config.aws_xks_client_ca_cert_file': optionalText({
    env: 'KMS_AWS_XKS_CLIENT_CA_CERT_FILE',
    flag: 'aws-xks-client-ca-cert-file',
    docs: 'PEM file of the authorities of these client certificates: those of Amazon Trust Services, roots and intermediates. Their certificates identify no user of other interfaces.',
  }),
  'aws_xks_config.aws_xks_server_names': list({
    default: [],
    env: 'KMS_AWS_XKS_SERVER_NAMES',
    flag: 'aws-xks-server-names',
    docs: 'Host names of this service that only AWS KMS uses (TLS server_name): a connection there without one of these client certificates is closed after the handshake. Empty: its requests get 401.',
    check: (names) =>
      names.every((name) => /^(?=.{1,253}$)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/.test(name))
        ? undefined
        : 'must contain host names like xks.example.com',
  }),
  'aws_xks_config.aws_xks_region': optionalText({
    env: 'KMS_AWS_XKS_REGION',
    flag: 'aws-xks-region',
    docs: 'Region of the access key in the settings; access keys in the database have their own.',
    check: regionProblem,
  }),
  'aws_xks_config.aws_xks_sigv4_access_key_id': optionalText({
    env: 'KMS_AWS_XKS_SIGV4_ACCESS_KEY_ID',
    flag: 'aws-xks-sigv4-access-key-id',
    docs: 'An access key in addition to those in the database, for the first path prefix: 20 to 30 of A to Z and 2 to 7.',
    check: (id) => (/^[A-Z2-7]{20,30}$/.test(id) ? undefined : 'it must be 20 to 30 of A to Z and 2 to 7'),
  }),
  'aws_xks_config.aws_xks_sigv4_secret_access_key': secret,
} as const
