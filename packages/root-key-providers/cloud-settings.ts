import type { OutboundAccess } from '@warder/outbound'
import { choice, optionalText, type SettingValues } from '@warder/runtime/settings'

/** A check for the address of a server, without a path. */
export function checkOrigin(example: string): (url: string) => string | undefined {
  return (url) => {
    const isOrigin =
      URL.canParse(url) && new URL(url).origin === url.replace(/\/$/, '') && url.startsWith('https:')
    return isOrigin ? undefined : `must be an address like ${example}`
  }
}

/** Settings of all outbound connections that those to a cloud need. */
export interface CloudAccess {
  readonly outbound_ca_file: string | undefined
  /** The proxy of the service (`ProviderConfig`). */
  readonly proxy: OutboundAccess['proxy']
}

const caFile = optionalText({
  docs: 'Authorities (PEM) trusted for these servers, in addition to the default ones. Unset = outbound_ca_file.',
})

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
  'root_key_aws.ca_file': caFile,
}

export type AwsConfig = SettingValues<typeof awsSettings> & CloudAccess

const googleKeyForm =
  /^projects\/[a-z0-9][a-z0-9:.-]{0,63}\/locations\/[a-z0-9-]{1,64}\/keyRings\/[\w-]{1,63}\/cryptoKeys\/[\w-]{1,63}$/

export const googleSettings = {
  'root_key_google.key': optionalText({
    docs: 'Key of Google Cloud KMS (purpose ENCRYPT_DECRYPT) that wraps the root key, for `root_key_source` google-kms: projects/…/locations/…/keyRings/…/cryptoKeys/….',
    check: (name) =>
      googleKeyForm.test(name)
        ? undefined
        : 'must be projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY',
  }),
  'root_key_google.credentials': choice({
    default: 'file',
    choices: ['file', 'metadata-server'],
    docs: 'Source of credentials: a file, or the metadata server of the instance or pod, with its service account.',
  }),
  'root_key_google.credentials_file': optionalText({
    docs: 'Key of a service account (JSON, mode 0600), or the configuration of workload identity federation with a token file; read at each use. Unset = GOOGLE_APPLICATION_CREDENTIALS.',
  }),
  'root_key_google.endpoint': optionalText({
    docs: 'Address (https) of Cloud KMS, such as a private or regional endpoint. Unset = https://cloudkms.googleapis.com.',
    check: checkOrigin('https://cloudkms.googleapis.com'),
  }),
  'root_key_google.ca_file': caFile,
}

export type GoogleConfig = SettingValues<typeof googleSettings> & CloudAccess

/** Identifier of a key. Groups: vault, name, version. */
export const azureKeyForm =
  /^(https:\/\/[a-z0-9.-]{1,253}(?::\d{1,5})?)\/keys\/([A-Za-z0-9-]{1,127})(?:\/([0-9a-f]{32}))?$/

export const azureCredentialSources = [
  'auto',
  'client-secret',
  'client-certificate',
  'workload-identity',
  'managed-identity',
] as const

export const azureSettings = {
  'root_key_azure.key': optionalText({
    docs: 'Identifier of the key of Azure Key Vault or Managed HSM that wraps the root key, for `root_key_source` azure-key-vault: https://VAULT.vault.azure.net/keys/NAME, and /VERSION for a version other than the current one.',
    check: (id) =>
      azureKeyForm.test(id)
        ? undefined
        : 'must be the identifier of a key like https://my-vault.vault.azure.net/keys/warder',
  }),
  'root_key_azure.algorithm': choice({
    default: 'RSA-OAEP-256',
    choices: ['RSA-OAEP-256', 'A256KW', 'A256GCM'],
    docs: 'RSA-OAEP-256 for RSA keys; A256KW or A256GCM for AES-256 keys of Managed HSM.',
  }),
  'root_key_azure.credentials': choice({
    default: 'auto',
    choices: azureCredentialSources,
    docs: 'Source of credentials. client-secret and client-certificate: those of an application; workload-identity: AZURE_FEDERATED_TOKEN_FILE, as in AKS; managed-identity: that of the machine. auto = the first of these that is configured, but never managed-identity.',
  }),
  'root_key_azure.tenant_id': optionalText({
    docs: 'Tenant of the application. Unset = AZURE_TENANT_ID.',
    check: checkAzureId,
  }),
  'root_key_azure.client_id': optionalText({
    docs: 'Application (client) id, or that of a user-assigned managed identity. Unset = AZURE_CLIENT_ID.',
    check: checkAzureId,
  }),
  'root_key_azure.client_secret_file': optionalText({
    docs: 'File with a client secret of the application, mode 0600; read at each use. Unset = AZURE_CLIENT_SECRET.',
  }),
  'root_key_azure.client_certificate_file': optionalText({
    docs: 'File with the private RSA key and the certificate of the application (PEM), mode 0600; read at each use. Unset = AZURE_CLIENT_CERTIFICATE_PATH.',
  }),
  'root_key_azure.authority': optionalText({
    docs: 'Address (https) of Microsoft Entra ID. Unset = AZURE_AUTHORITY_HOST, or https://login.microsoftonline.com.',
    check: checkOrigin('https://login.microsoftonline.com'),
  }),
  'root_key_azure.ca_file': caFile,
}

export type AzureConfig = SettingValues<typeof azureSettings> & CloudAccess

function checkAzureId(id: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/.test(id) ? undefined : 'must be an id of Microsoft Entra ID'
}
