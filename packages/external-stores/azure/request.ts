import { decodeBase64Url, externalPrefix } from '@warder/keys'
import type { OperationContext, Principal } from '@warder/server'
import Type, { type Static } from 'typebox'
import { recordVendor } from '../scope/vendor-audit.ts'
import { ekmFailure } from './errors.ts'

/** The version of the API that is served, and all that it knows. */
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

/** Most bytes of a key that is wrapped, or was. */
const maxBytes = 16 * 1024

/** @throws failure('bad_request'); ekmFailure('InvalidRequest') */
export function decodeValue(value: string): Buffer {
  const bytes = decodeBase64Url(value, 'value')
  if (bytes.length === 0) throw ekmFailure('InvalidRequest', 'value is empty.')
  if (bytes.length > maxBytes)
    throw ekmFailure('InvalidRequest', `value must have at most ${maxBytes} bytes.`)
  return bytes
}
