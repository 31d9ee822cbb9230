import { choice, optionalText, type SettingValues } from '@warder/runtime/settings'

/** A check for the address of a server, without a path. */
export function checkOrigin(example: string): (url: string) => string | undefined {
  return (url) => {
    const isOrigin =
      URL.canParse(url) && new URL(url).origin === url.replace(/\/$/, '') && url.startsWith('https:')
    return isOrigin ? undefined : `must be an address like ${example}`
  }
}

/** ARN of a key or an alias. Groups: partition, region, account, id of a key. */
export const arnForm =
  /^arn:(aws[a-z-]{0,20}):kms:([a-z0-9-]{1,64}):(\d{12}):(?:key\/([A-Za-z0-9-]{1,64})|alias\/([A-Za-z0-9/_-]{1,250}))$/
export const aliasForm = /^alias\/[A-Za-z0-9/_-]{1,250}$/
const idForm = /^[A-Za-z0-9-]{1,64}$/

export const awsCredentialSources = [
  'auto',
  'environment',
  'web-identity',
  'container',
  'file',
  'instance-metadata',
] as const

export const awsSettings = {
  'root_key_aws.key': optionalText({
    docs: 'Key of AWS KMS that wraps the root key, for `root_key_source` aws-kms: ARN or id of a symmetric key, or an alias (alias/NAME or its ARN).',
    check: (key) =>
      [arnForm, aliasForm, idForm].some((form) => form.test(key))
        ? undefined
        : 'must be the ARN or id of a key, alias/NAME, or the ARN of an alias',
  }),
  'root_key_aws.region': optionalText({
    docs: 'Region of the key. Unset = that of the ARN, or AWS_REGION.',
    check: (region) => (/^[a-z0-9-]{1,64}$/.test(region) ? undefined : 'must be a region like eu-central-1'),
  }),
  'root_key_aws.credentials': choice({
    default: 'auto',
    choices: awsCredentialSources,
    docs: 'Source of credentials. environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; web-identity: AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, at AWS STS; container: AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI; file: a profile; instance-metadata: the role of the EC2 instance. auto = the first of these that is configured, but never instance-metadata.',
  }),
  'root_key_aws.credentials_file': optionalText({
    docs: 'Credentials file, mode 0600, with the profile of AWS_PROFILE or `default`; read at each use. Unset = AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials.',
  }),
  'root_key_aws.endpoint': optionalText({
    docs: 'Address (https) of AWS KMS, such as an interface endpoint of a VPC or a FIPS endpoint. Unset = that of the region.',
    check: checkOrigin('https://kms.eu-central-1.amazonaws.com'),
  }),
  'root_key_aws.sts_endpoint': optionalText({
    docs: 'Address (https) of AWS STS, for web-identity. Unset = that of the region.',
    check: checkOrigin('https://sts.eu-central-1.amazonaws.com'),
  }),
  'root_key_aws.ca_file': optionalText({
    docs: 'Authorities (PEM) trusted for these servers, in addition to the default ones. Unset = outbound_ca_file.',
  }),
}

export type AwsConfig = SettingValues<typeof awsSettings> & {
  readonly outbound_ca_file: string | undefined
}
