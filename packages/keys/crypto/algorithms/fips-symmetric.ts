import { families } from './ciphers.ts'
import { hashes } from './hashes.ts'
import { hmacHash } from './macs.ts'

/** Whether keys of a cipher or an HMAC may be used under FIPS 140-3 (SP 800-140C), by its name in KMIP. */
export function isFipsSymmetric(algorithm: string): boolean {
  const hash = hmacHash(algorithm)
  return (hash === undefined ? families[algorithm] : hashes.get(hash))?.fips === true
}
