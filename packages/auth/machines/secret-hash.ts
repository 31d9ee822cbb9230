import { hash } from 'node:crypto'

/** High-entropy secrets are kept as SHA-256: guessing them is hopeless, so no slow hash is needed. */
export function secretHash(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
