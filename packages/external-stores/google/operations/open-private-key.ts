import type { KeyObject } from 'node:crypto'
import type { OperationContext } from '@warder/server'
import { decodeBase64 } from '../../scope/base64.ts'
import type { ExternalStoreServices } from '../../scope/services.ts'
import { openPrivateKey } from '../keys/private-key.ts'
import { unwrapSecret } from '../keys/wrapping-key.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { limits } from './common.ts'

/** Opens a wrapped private key of S/MIME for one request. */
export async function openWrappedPrivateKey(
  scope: GoogleScope,
  context: OperationContext<ExternalStoreServices>,
  principal: string,
  wrapped: string,
): Promise<{ readonly key: KeyObject; readonly perimeterId: string }> {
  const member = 'wrapped_private_key'
  const bytes = decodeBase64(wrapped, member, limits.wrappedPrivateKey)
  const { wrappingKey } = scope
  const { secret, perimeterId } = await unwrapSecret(
    context,
    wrappingKey,
    principal,
    'private key',
    '',
    bytes,
    member,
  )
  try {
    return { key: openPrivateKey(secret), perimeterId }
  } finally {
    secret.fill(0)
  }
}
