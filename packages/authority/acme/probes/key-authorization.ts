import { createHash } from 'node:crypto'

/** RFC 8555 §8.1 */
export function keyAuthorization(token: string, thumbprint: string): string {
  return `${token}.${thumbprint}`
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
