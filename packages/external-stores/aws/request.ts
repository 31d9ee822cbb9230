import { type ErrorKind, type Failure, failure } from '@warder/base'
import { isUuid } from '@warder/keys'
import type { ErrorShape, Operation, OperationContext, PublicError } from '@warder/server'
import Type, { type Static } from 'typebox'
import { type ExternalStoreServices, recordVendor, type VendorRequest } from '../scope/scope.ts'
import type { XksStore } from './access-key-store.ts'
import type { AccessKeys } from './access-keys.ts'
import type { Authenticator } from './authenticate.ts'

/** Errors of the XKS Proxy API with their statuses and the error kinds of this service ("Error codes"). */
const errors = {
  ValidationException: [400, 'bad_request'],
  InvalidStateException: [400, 'crypto_failure'],
  InvalidCiphertextException: [400, 'decryption_failed'],
  InvalidKeyUsageException: [400, 'crypto_failure'],
  AuthenticationFailedException: [401, 'unauthorized'],
  AccessDeniedException: [403, 'forbidden'],
  KeyNotFoundException: [404, 'not_found'],
  InvalidUriPathException: [404, 'not_found'],
  ThrottlingException: [429, 'rate_limited'],
  UnsupportedOperationException: [501, 'unsupported_algorithm'],
  DependencyTimeoutException: [503, 'storage_unavailable'],
  InternalException: [500, 'internal_error'],
} as const satisfies Readonly<Record<string, readonly [status: number, kind: ErrorKind]>>

export type XksError = keyof typeof errors

/** Creates a failure that is reported under this name. */
export function xksFailure(errorName: XksError, sentence?: string): Failure {
  return failure(errors[errorName][1], sentence, { members: { errorName } })
}

/** Names in the API for the other failures of the service. */
const names: Partial<Readonly<Record<ErrorKind, XksError>>> = {
  unauthorized: 'AuthenticationFailedException',
  forbidden: 'AccessDeniedException',
  not_found: 'InvalidUriPathException',
  payload_too_large: 'UnsupportedOperationException',
  unsupported_algorithm: 'UnsupportedOperationException',
  crypto_failure: 'InvalidKeyUsageException',
  decryption_failed: 'InvalidCiphertextException',
  rate_limited: 'ThrottlingException',
  overloaded: 'ThrottlingException',
  storage_unavailable: 'DependencyTimeoutException',
  audit_unavailable: 'DependencyTimeoutException',
}

function toXksError({ kind, status, members }: PublicError): XksError {
  const named = members?.errorName
  if (typeof named === 'string' && Object.hasOwn(errors, named)) return named as XksError
  return names[kind] ?? (status >= 500 ? 'InternalException' : 'ValidationException')
}

/** `errorMessage` has fewer than 512 characters, all of them printable ASCII. */
function toMessage(sentence: string): string {
  return sentence.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 511)
}

export const xksErrors: ErrorShape = {
  documented: {
    contentType: 'application/json',
    schema: Type.Object({
      errorName: Type.String(),
      errorMessage: Type.Optional(Type.String()),
    }),
  },
  reply(failed) {
    const errorName = toXksError(failed)
    // 405 keeps its status: the API requires it for requests other than POST.
    const status = failed.kind === 'method_not_allowed' ? failed.status : errors[errorName][0]
    return {
      status,
      json: { errorName, errorMessage: toMessage(failed.message) },
      ...(status === 401 && { headers: { 'WWW-Authenticate': 'AWS4-HMAC-SHA256' } }),
    }
  },
}

/** An ARN has at most 2048 characters. */
const Name = Type.String({ minLength: 1, maxLength: 2048 })
/** AWS principals do not begin with a slash; with one, a name could belong to another key store. */
const PrincipalArn = Type.String({ pattern: '^[^/]', maxLength: 2048 })
const Optional = Type.Optional(Type.String({ maxLength: 2048 }))

/** XKS Proxy API, appendix B. Additional members are ignored. */
export const HealthMetadata = Type.Object({
  kmsOperation: Type.String({ maxLength: 2048, description: 'Any text.' }),
  kmsRequestId: Type.String({ maxLength: 2048, description: 'Any text.' }),
})
export const RequestMetadata = Type.Object({
  awsPrincipalArn: PrincipalArn,
  awsSourceVpc: Optional,
  awsSourceVpce: Optional,
  kmsKeyArn: Optional,
  kmsOperation: Type.String({ maxLength: 2048, description: 'Any text.' }),
  kmsRequestId: Type.String({ maxLength: 2048, description: 'Any text.' }),
  kmsViaService: Optional,
})
export const KeyRequestMetadata = Type.Object({ ...RequestMetadata.properties, kmsKeyArn: Name })
export type RequestMetadata = Static<typeof RequestMetadata>

export const KeyPath = Type.Object({
  externalKeyId: Type.String({
    pattern: '^[A-Za-z0-9._-]{1,128}$',
    description:
      'Id of an AES key of 256 bits, or an alias (without `alias/`) of the creator of the access key.',
  }),
})

/** Metadata of AWS KMS for the audit record: enough to find the request in AWS CloudTrail. */
export function recordMetadata(
  context: Pick<OperationContext<never>, 'audit'>,
  metadata: Partial<RequestMetadata>,
  about: Pick<VendorRequest, 'object' | 'algorithm'> = {},
): void {
  const {
    awsPrincipalArn,
    awsSourceVpc,
    awsSourceVpce,
    kmsKeyArn,
    kmsOperation,
    kmsRequestId,
    kmsViaService,
  } = metadata
  recordVendor(context, 'aws', {
    ...about,
    requestId: kmsRequestId,
    principal: awsPrincipalArn,
    details: {
      kms_operation: kmsOperation,
      ...(kmsKeyArn !== undefined && { kms_key_arn: kmsKeyArn }),
      ...(kmsViaService !== undefined && { via_service: kmsViaService }),
      ...(awsSourceVpc !== undefined && { source_vpc: awsSourceVpc }),
      ...(awsSourceVpce !== undefined && { source_vpce: awsSourceVpce }),
    },
  })
}

/** Standard Base64 (RFC 4648 §4), exactly with its padding; undefined for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Version 1 of the API has only AES-GCM. */
export function requireAesGcm(algorithm: string): void {
  if (algorithm !== 'AES_GCM') throw xksFailure('ValidationException', 'encryptionAlgorithm must be AES_GCM.')
}

/**
 * Format of a ciphertext: AES-256-GCM with the additional data of `joinAuthenticatedData`, under the key in the path.
 */
const plain = Buffer.of(1)
/** The same, followed by 16 bytes: the UUID of the key or version that encrypted it. */
const named = 2

/**
 * `ciphertextMetadata` of a ciphertext, which AWS KMS stores and returns (at most 20 bytes). It names the key if the
 * path does not: for aliases and for rotated keys.
 * @param externalKeyId the identifier in the path
 * @param keyId the key that encrypts
 */
export function metadataFor(externalKeyId: string, keyId: string): Buffer {
  if (externalKeyId === keyId || !isUuid(keyId)) return plain
  return Buffer.concat([Buffer.of(named), Buffer.from(keyId.replaceAll('-', ''), 'hex')])
}

/** The key that a ciphertext names; undefined: that of the path. */
export function keyNamedIn(metadata: string | undefined): string | undefined {
  const bytes = metadata === undefined ? undefined : decodeBase64(metadata)
  if (bytes?.length !== 17 || bytes[0] !== named) return undefined
  const hex = bytes.toString('hex', 1)
  return [8, 12, 16, 20, 32].map((end, index, ends) => hex.slice(ends[index - 1] ?? 0, end)).join('-')
}

/** Declares the operations of one path prefix: their paths and names, and the access keys that sign their requests. */
export interface XksRoute {
  readonly store: XksStore
  /** Name of this node. */
  readonly node: string
  /** Nodes that serve AWS KMS. */
  readonly fleetSize: number
  /** Access keys of AWS KMS. */
  readonly accessKeys: AccessKeys
  path(rest: string): string
  common(
    operation: string,
  ): Pick<
    Operation<ExternalStoreServices>,
    'name' | 'tag' | 'bodyLimit' | 'authenticate' | 'security' | 'errorShape'
  >
}

export const title = 'AWS XKS proxy'

/**
 * Exceeds the largest request of the API, 25 KB. The signature covers the whole body, so it is read before the caller
 * is known.
 */
const bodyLimit = 64 * 1024

export function xksRoute(
  store: XksStore,
  authenticate: Authenticator,
  { node, fleetSize, accessKeys }: Pick<XksRoute, 'node' | 'fleetSize' | 'accessKeys'>,
): XksRoute {
  const prefix = store.uriPrefix
  // Operations of the default prefix have names without a suffix.
  const suffix = prefix === '/aws' ? '' : `.${prefix === '' ? 'root' : prefix.slice(1).replaceAll('/', '.')}`
  return {
    store,
    node,
    fleetSize,
    accessKeys,
    path: (rest) => `${prefix}/kms/xks/v1${rest}`,
    common: (operation) => ({
      name: `aws.xks.${operation}${suffix}`,
      tag: title,
      bodyLimit,
      authenticate,
      security: ['awsSigV4'],
      errorShape: xksErrors,
    }),
  }
}
