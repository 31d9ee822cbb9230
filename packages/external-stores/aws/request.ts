import type { OperationContext } from '@warder/server'
import Type, { type Static } from 'typebox'
import { recordVendor, type VendorRequest } from '../scope/vendor-audit.ts'
import { xksFailure } from './errors.ts'

/** An ARN has at most 2048 characters. */
const Name = Type.String({ minLength: 1, maxLength: 2048 })
/** No principal of AWS begins with a slash: a name with the path of a key store would be one of another store. */
const PrincipalArn = Type.String({ pattern: '^[^/]', maxLength: 2048 })
const Optional = Type.Optional(Type.String({ maxLength: 2048 }))

/** XKS Proxy API, appendix B. More members may come, and are left alone. */
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

/** Standard Base64 (RFC 4648 §4), with its padding and nothing else; undefined for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** AES-GCM is what version 1 has. */
export function requireAesGcm(algorithm: string): void {
  if (algorithm !== 'AES_GCM') throw xksFailure('ValidationException', 'encryptionAlgorithm must be AES_GCM.')
}
