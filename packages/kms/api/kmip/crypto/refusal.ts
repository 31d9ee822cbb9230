import { type KmipFailure, kmipFailure } from '../failure/failure.ts'

/** A member that is not supported, or has no meaning here: it is never quietly left out. */
export function unsupported(sentence: string): KmipFailure {
  return kmipFailure('UnsupportedCryptographicParameters', sentence)
}

/** The one answer to every decryption that fails: which part was wrong is not told. */
export function cryptographicFailure(): KmipFailure {
  return kmipFailure('CryptographicFailure', 'CRYPTO')
}

export { KmipFailure, kmipFailure as refuse } from '../failure/failure.ts'
