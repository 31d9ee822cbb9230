import { hash } from 'node:crypto'

/** High-entropy secrets are stored as SHA-256: they cannot be guessed, so no slow hash is needed. */
export function secretHash(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
