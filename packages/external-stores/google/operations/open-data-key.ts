import type { OperationContext } from '@warder/server'
import { decodeBase64 } from '../../scope/base64.ts'
import type { ExternalStoreServices } from '../../scope/services.ts'
import { unwrapSecret } from '../keys/wrapping-key.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { limits } from './common.ts'

/** Opens a wrapped data key and wipes it when `use` is done. */
export async function openDataKey<R>(
  scope: GoogleScope,
  context: OperationContext<ExternalStoreServices>,
  principal: string,
  resourceName: string,
  wrappedKey: string,
  use: (dataKey: Buffer, perimeterId: string) => R,
): Promise<R> {
  const bytes = decodeBase64(wrappedKey, 'wrapped_key', limits.wrappedKey)
  const { secret, perimeterId } = await unwrapSecret(
    context,
    scope.wrappingKey,
    principal,
    'data key',
    resourceName,
    bytes,
    'wrapped_key',
  )
  try {
    return use(secret, perimeterId)
  } finally {
    secret.fill(0)
  }
}
