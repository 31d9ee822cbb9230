import { type ErrorKind, type Failure, failure } from '@warder/base'
import { decodeBase64Url } from '@warder/crypto'
import { externalPrefix, externalPrincipal } from '@warder/keys'
import type {
  AuthenticationContext,
  ErrorShape,
  Operation,
  OperationContext,
  Principal,
  PublicError,
} from '@warder/server'
import Type, { type Static } from 'typebox'
import { partnerNamed } from '../scope/partner-certificate.ts'
import { type ExternalStoreServices, recordVendor } from '../scope/scope.ts'

/** Codes of the EKM Proxy API with their statuses and the error kinds of this service. */
const errors = {
  InvalidRequest: [400, 'bad_request'],
  UnsupportedApiVersion: [400, 'bad_request'],
  UnsupportedAlgorithm: [400, 'unsupported_algorithm'],
  Unauthorized: [401, 'unauthorized'],
  Forbidden: [403, 'forbidden'],
  KeyDisabled: [403, 'crypto_failure'],
  OperationNotAllowed: [403, 'crypto_failure'],
  KeyNotFound: [404, 'not_found'],
  TooManyRequests: [429, 'rate_limited'],
  InternalError: [500, 'internal_error'],
} as const satisfies Readonly<Record<string, readonly [status: number, kind: ErrorKind]>>

export type EkmError = keyof typeof errors

/** Creates a failure that is reported under this code. */
export function ekmFailure(code: EkmError, sentence?: string): Failure {
  return failure(errors[code][1], sentence, { members: { code } })
}

/** Codes in the API for the other failures of the service. */
const codes: Partial<Readonly<Record<ErrorKind, EkmError>>> = {
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  not_found: 'KeyNotFound',
  unsupported_algorithm: 'UnsupportedAlgorithm',
  crypto_failure: 'OperationNotAllowed',
  decryption_failed: 'InvalidRequest',
  rate_limited: 'TooManyRequests',
  overloaded: 'TooManyRequests',
}

function toEkmError({ kind, status, members }: PublicError): EkmError {
  const named = members?.code
  if (typeof named === 'string' && Object.hasOwn(errors, named)) return named as EkmError
  return codes[kind] ?? (status >= 500 ? 'InternalError' : 'InvalidRequest')
}

/** Kinds whose own status is more specific than that of the code. */
const ownStatus: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'method_not_allowed',
  'storage_unavailable',
  'audit_unavailable',
])

export const ekmErrors: ErrorShape = {
  documented: {
    contentType: 'application/json',
    schema: Type.Object({ code: Type.String(), message: Type.String() }),
  },
  reply(failed) {
    const code = toEkmError(failed)
    const status = ownStatus.has(failed.kind) ? failed.status : errors[code][0]
    return {
      status,
      json: { code, message: failed.message },
      // RFC 9110 §11.6.1 requires the header, but no HTTP scheme fits: the certificate belongs to the TLS handshake.
      ...(status === 401 && { headers: { 'WWW-Authenticate': 'Mutual' } }),
    }
  },
}

/** The only supported version of the API. */
export const apiVersion = '0.1-preview'

const Text = Type.String({ maxLength: 1024 })

/** EKM Proxy API, Request context. */
export const RequestContext = Type.Object({
  request_id: Type.Optional(Text),
  correlation_id: Text,
  pool_name: Text,
})

export const KeyPath = Type.Object({
  key_name: Type.String({
    pattern: '^[A-Za-z0-9-]{1,64}$',
    description: 'Id of an AES key of 256 bits, or of an RSA key.',
  }),
})

/** @throws ekmFailure('UnsupportedApiVersion') */
export function requireApiVersion(query: Readonly<Record<string, string>>): void {
  if (query['api-version'] !== apiVersion)
    throw ekmFailure('UnsupportedApiVersion', `The query must contain api-version=${apiVersion}.`)
}

/** Records Managed HSM's context of a request. @returns the Common Name of the pool */
export function recordContext(
  context: Pick<OperationContext<never>, 'audit'> & { readonly principal: Principal | undefined },
  { request_id, correlation_id, pool_name }: Static<typeof RequestContext>,
): string {
  const pool = (context.principal?.name ?? '').slice(externalPrefix('azure').length)
  recordVendor(context, 'azure', {
    requestId: correlation_id,
    principal: pool,
    details: { pool_name, ...(request_id !== undefined && { client_request_id: request_id }) },
  })
  return pool
}

/** Maximum length of a key, wrapped or not. */
const maxBytes = 16 * 1024

/** @throws failure('bad_request'); ekmFailure('InvalidRequest') */
export function decodeValue(value: string): Buffer {
  const bytes = decodeBase64Url(value, 'value')
  if (bytes.length === 0) throw ekmFailure('InvalidRequest', 'value is empty.')
  if (bytes.length > maxBytes)
    throw ekmFailure('InvalidRequest', `value must have at most ${maxBytes} bytes.`)
  return bytes
}

/** Identifies the pool of Azure Managed HSM to which a connection belongs. */
type PoolAuthenticator = (context: AuthenticationContext<ExternalStoreServices>) => Principal

/**
 * The authenticator of the EKM proxy: requires a client certificate under the authorities of Azure, with a configured
 * Common Name (EKM Proxy API, Authentication).
 */
export function poolsNamed(names: readonly string[]): PoolAuthenticator {
  const requirePool = partnerNamed('azure', names)
  return (context) => {
    const pool = requirePool(context)
    if ('problem' in pool)
      throw failure('unauthorized', 'A client certificate of an Azure Managed HSM pool is required.', {
        detail: pool.problem,
      })
    return { name: externalPrincipal('azure', pool.name), method: 'mtls' }
  }
}

/** The operations of one path prefix: their paths, their names, and the clients that are admitted. */
export interface EkmRoute {
  path(rest: string): string
  common(
    operation: string,
  ): Pick<
    Operation<ExternalStoreServices>,
    'name' | 'tag' | 'bodyLimit' | 'authenticate' | 'security' | 'errorShape'
  >
}

export const title = 'Azure EKM proxy'

/** Max bytes of a body: no wrapped key is larger. */
const bodyLimit = 64 * 1024

export function ekmPath(prefix: string): string {
  return prefix === '' ? '/azureekm' : `/azureekm/${prefix}`
}

export function ekmRoute(prefix: string, authenticate: PoolAuthenticator): EkmRoute {
  const suffix = prefix === '' ? '' : `.${prefix.replaceAll('/', '.')}`
  return {
    path: (rest) => `${ekmPath(prefix)}${rest}`,
    common: (operation) => ({
      name: `azure.ekm.${operation}${suffix}`,
      tag: title,
      bodyLimit,
      authenticate,
      security: ['azureMutualTls'],
      errorShape: ekmErrors,
    }),
  }
}
