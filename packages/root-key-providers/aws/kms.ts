import { type Clock, StartupError, systemClock } from '@warder/base'
import { signAwsRequest } from '@warder/outbound/sigv4'
import { decodeContext, type RootKeyProvider } from '@warder/storage'
import {
  addKeyName,
  CredentialCache,
  createCloudClient,
  decodeMember,
  decodeWrapped,
  encodeWrapped,
  isTemporary,
  type Members,
  type Reply,
  receive,
  toPhrase,
  toRefusalError,
} from '../cloud.ts'
import type { AwsConfig } from '../cloud-settings.ts'
import { type AwsCredentialSource, chooseAwsCredentials } from './credentials.ts'
import { type AwsKeyName, isSameKey, parseAwsKey, requireSameKey } from './key-name.ts'

/**
 * Wraps the root key with a symmetric key of AWS KMS (Encrypt and Decrypt). The context is the encryption context, so that
 * CloudTrail shows it, and key policies can require it. The key is named by every request; the wrapped bytes record its ARN.
 * @param env of the process, for credentials
 * @throws StartupError for settings without a key, region or credentials, and for files that cannot be used
 */
export function createAwsKmsProvider(
  config: AwsConfig,
  resolvePath: (path: string) => string,
  env: NodeJS.ProcessEnv,
  clock: Clock = systemClock,
): RootKeyProvider {
  const keyId = config['root_key_aws.key']
  if (keyId === undefined) throw new StartupError('root_key_source aws-kms requires root_key_aws.key')
  const key = parseAwsKey(keyId)
  const region = readRegion(config, key, env)
  const endpoint = config['root_key_aws.endpoint']?.replace(/\/$/, '') ?? defaultEndpoint('kms', region)
  const outbound = createCloudClient(config['root_key_aws.ca_file'], config, resolvePath)
  const source = chooseAwsCredentials(config, {
    resolvePath,
    env,
    outbound,
    stsEndpoint: config['root_key_aws.sts_endpoint']?.replace(/\/$/, '') ?? defaultEndpoint('sts', region),
  })
  const credentials = new CredentialCache(source.fetch, () => clock.now())

  const call = async (operation: Operation, members: object): Promise<Members> => {
    const body = Buffer.from(JSON.stringify({ KeyId: keyId, ...members }))
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `TrentService.${operation}`,
    }
    const reply = await credentials.use(
      (credential) => {
        const request = { host: new URL(endpoint).host, path: '/', headers, body }
        const signed = signAwsRequest(request, credential, { region, service: 'kms' }, clock.now())
        return receive(endpoint, outbound.post(`${endpoint}/`, body, { headers: signed }))
      },
      (refused) => credentialErrors.includes(readErrorCode(refused)),
    )
    return requireSuccess(reply, { operation, endpoint, keyId, region, source })
  }

  return {
    source: 'aws-kms',
    description: `${endpoint} ${keyId}`,
    async wrap(rootKey, context) {
      const reply = await call('Encrypt', {
        Plaintext: Buffer.from(rootKey).toString('base64'),
        EncryptionContext: toEncryptionContext(context),
      })
      const arn = requireSameKey(reply.KeyId, key, { endpoint, region })
      return encodeWrapped(arn, decodeMember(endpoint, reply, 'CiphertextBlob'))
    },
    async unwrap(wrapped, context) {
      const { keyName: recorded, ciphertext } = decodeWrapped(wrapped, 'aws-kms')
      const reply = await call('Decrypt', {
        CiphertextBlob: ciphertext.toString('base64'),
        EncryptionContext: toEncryptionContext(context),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      }).catch(addKeyName(recorded))
      const arn = requireSameKey(reply.KeyId, key, { endpoint, region })
      if (!isSameKey(arn, recorded))
        throw new StartupError(`${endpoint} decrypted with ${arn}, but ${recorded} wrapped the root key`)
      return decodeMember(endpoint, reply, 'Plaintext')
    },
  }
}

function readRegion(config: AwsConfig, key: AwsKeyName, env: NodeJS.ProcessEnv): string {
  const configured = config['root_key_aws.region']
  if (configured !== undefined && key.region !== undefined && configured !== key.region)
    throw new StartupError(
      `root_key_aws.region is ${configured}, but root_key_aws.key is in ${key.region}: remove the region, or name the key of ${configured}`,
    )
  const region = configured ?? key.region ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION
  if (region === undefined || !/^[a-z0-9-]{1,64}$/.test(region))
    throw new StartupError(
      'root_key_source aws-kms requires root_key_aws.region, an ARN as root_key_aws.key, or AWS_REGION',
    )
  return region
}

function defaultEndpoint(service: 'kms' | 'sts', region: string): string {
  return `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
}

/** service, table and salt of the database. */
function toEncryptionContext(context: Uint8Array): Readonly<Record<string, string>> {
  const [service = '', table = '', salt = ''] = decodeContext(context)
  return { service, table, salt }
}

type Operation = 'Encrypt' | 'Decrypt'

/** Errors that refuse a credential, which may have been replaced meanwhile. */
const credentialErrors: readonly string[] = [
  'ExpiredTokenException',
  'ExpiredToken',
  'UnrecognizedClientException',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
  'MissingAuthenticationTokenException',
  'IncompleteSignatureException',
]

/** Errors after which another attempt may succeed, with any status (KMS API, "Common errors" and errors of Decrypt). */
const temporaryErrors: readonly string[] = [
  'ThrottlingException',
  'Throttling',
  'RequestLimitExceeded',
  'LimitExceededException',
  'DependencyTimeoutException',
  'KeyUnavailableException',
  'KMSInternalException',
  'InternalFailure',
  'ServiceUnavailable',
  'ServiceUnavailableException',
]

/** `AccessDeniedException` of `com.amazonaws.kms#AccessDeniedException`. */
function readErrorCode({ status, json }: Reply): string {
  if (status === 200) return ''
  return toPhrase(json?.__type).split('#').at(-1) ?? ''
}

interface Called {
  readonly operation: Operation
  readonly endpoint: string
  readonly keyId: string
  readonly region: string
  readonly source: AwsCredentialSource
}

/** @throws RootKeyUnavailable, StartupError */
function requireSuccess(reply: Reply, called: Called): Members {
  const { operation, endpoint, source } = called
  if (reply.status === 200 && reply.json !== undefined) return reply.json
  const code = readErrorCode(reply)
  if (credentialErrors.includes(code))
    // The message of AWS may contain the session token, as part of the text that was to be signed.
    throw new StartupError(
      `${endpoint} refused ${operation} with ${code}: the credentials of ${source.description} are wrong or have expired, or the clock of this machine is wrong`,
    )
  throw toRefusalError({
    ...{ server: endpoint, operation, code: code === '' ? reply.status : code },
    message: reply.json?.message ?? reply.json?.Message,
    temporary: temporaryErrors.includes(code) || isTemporary(reply.status),
    advice: advise(code, called),
  })
}

function advise(code: string, { operation, keyId, region, source }: Called): string | undefined {
  switch (code) {
    case 'AccessDeniedException':
      return `permit kms:Encrypt and kms:Decrypt on ${keyId} to the principal of ${source.description}, in the policy of the key and of the principal`
    case 'NotFoundException':
      return `there is no key ${keyId} in ${region} for this account: check root_key_aws.key and root_key_aws.region`
    case 'DisabledException':
      return `enable the key: aws kms enable-key --key-id ${keyId} --region ${region}`
    case 'KMSInvalidStateException':
    case 'InvalidStateException':
      return `the key cannot be used now: if its deletion is pending, aws kms cancel-key-deletion --key-id ${keyId} --region ${region}, and enable it`
    case 'InvalidKeyUsageException':
      return 'root_key_aws.key must be a symmetric key for encryption (SYMMETRIC_DEFAULT)'
    case 'IncorrectKeyException':
      return 'set root_key_aws.key to the key that wrapped the root key, or let the alias refer to it'
    case 'InvalidCiphertextException':
      return 'the wrapped root key was changed, or belongs to another key or database'
    case '':
      return `is ${operation === 'Encrypt' ? 'root_key_aws.endpoint' : 'the endpoint'} one of AWS KMS?`
    default:
      return undefined
  }
}
