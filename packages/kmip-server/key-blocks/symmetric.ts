import { isFipsSymmetric } from '@warder/crypto'
import type { KeyFormat } from '@warder/keys'
import { byteString, requireMember, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import type { KeyPolicy } from '@warder/pki'
import { kmipFailure } from '../failure/failure.ts'
import { materialBytes, materialStructure } from './key-format.ts'
import type { CryptographicAlgorithm } from './stored-shape.ts'

/** Maximum length of a symmetric key in bytes: an HMAC key may be longer than any cipher key. */
const maxKeyBytes = 4096

/** Key lengths of these ciphers in bytes. AES keys for XTS are twice as long, since XTS uses two keys. */
const cipherBytes: Partial<Record<CryptographicAlgorithm, readonly number[]>> = {
  AES: [16, 24, 32, 64],
  DES: [8],
  DES3: [16, 24],
  Camellia: [16, 24, 32],
  ARIA: [16, 24, 32],
  SEED: [16],
  SM4: [16],
  IDEA: [16],
  Twofish: [16, 24, 32],
  ChaCha20: [16, 32],
  ChaCha20Poly1305: [32],
  Poly1305: [32],
}

/** The bytes of a symmetric key: Raw, Opaque or {Key}. @throws KeyFormatTypeNotSupported, InvalidField */
export function readSymmetric(format: KeyFormat, material: TtlvNode): Uint8Array {
  switch (format) {
    case 'Raw':
    case 'Opaque':
      return materialBytes(material)
    case 'TransparentSymmetricKey':
      return requireMember(materialStructure(material), Tag.Key, 'ByteString')
    default:
      throw createUnsupportedFormat()
  }
}

/** @throws KeyFormatTypeNotSupported */
export function writeSymmetric(format: KeyFormat, key: Uint8Array): TtlvNode {
  switch (format) {
    case 'Raw':
    case 'Opaque':
      return byteString(Tag.KeyMaterial, key)
    case 'TransparentSymmetricKey':
      return structure(Tag.KeyMaterial, [byteString(Tag.Key, key)])
    default:
      throw createUnsupportedFormat()
  }
}

function createUnsupportedFormat() {
  return kmipFailure('KeyFormatTypeNotSupported', 'A symmetric key does not have this key format type.')
}

/**
 * CryptographicLength of a symmetric key, checked against the declared length. The parity bits of (3)DES may or may not
 * be counted: 168 and 192 are the same length.
 * @throws InvalidField
 */
export function symmetricBits(
  key: Uint8Array,
  algorithm: CryptographicAlgorithm | undefined,
  claimed: number | undefined,
  { fips }: KeyPolicy,
): number {
  const bits = key.length * 8
  if (key.length === 0 || key.length > maxKeyBytes)
    throw kmipFailure('InvalidField', `A symmetric key has 1 to ${maxKeyBytes} bytes.`)
  const sizes = algorithm === undefined ? undefined : cipherBytes[algorithm]
  if (sizes !== undefined && !sizes.includes(key.length))
    throw kmipFailure('InvalidField', `A key of ${algorithm} does not have ${bits} bits.`)
  if (fips && algorithm !== undefined && !isFipsSymmetric(algorithm))
    throw kmipFailure('InvalidField', `Keys of ${algorithm} are not available in FIPS mode.`)
  if (claimed === undefined || claimed === bits) return bits
  if ((algorithm === 'DES' || algorithm === 'DES3') && claimed === key.length * 7) return claimed
  throw kmipFailure('InvalidField', 'The length of the key differs from CryptographicLength.')
}
