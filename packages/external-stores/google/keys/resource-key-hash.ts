import { createHmac } from 'node:crypto'

/**
 * By which Google compares data keys without having them: HMAC-SHA256 with the key over
 * `ResourceKeyDigest:<resource>:<perimeter>`, in base64 (Google's reference, "Resource key hash").
 */
export function resourceKeyHash(dataKey: Uint8Array, resourceName: string, perimeterId: string): string {
  return createHmac('sha256', dataKey)
    .update(`ResourceKeyDigest:${resourceName}:${perimeterId}`, 'utf8')
    .digest('base64')
}
