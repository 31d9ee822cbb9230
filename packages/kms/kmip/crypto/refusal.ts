import type { ResultReason } from '@warder/kmip/tables'

/** Why cryptography is refused or failed: what the client is told. Holds no part of any value. */
export class CryptoRefusal extends Error {
  readonly reason: ResultReason

  constructor(reason: ResultReason, sentence: string) {
    super(sentence)
    this.name = 'CryptoRefusal'
    this.reason = reason
  }
}

/** To be thrown: `throw refuse('InvalidField', 'The IV must be 16 bytes long.')`. */
export function refuse(reason: ResultReason, sentence: string): CryptoRefusal {
  return new CryptoRefusal(reason, sentence)
}

/** A member that is not supported, or has no meaning here: it is never quietly left out. */
export function unsupported(sentence: string): CryptoRefusal {
  return new CryptoRefusal('UnsupportedCryptographicParameters', sentence)
}

/** The one answer to every decryption that fails: which part was wrong is not told. */
export function cryptographicFailure(): CryptoRefusal {
  return new CryptoRefusal('CryptographicFailure', 'CRYPTO')
}
