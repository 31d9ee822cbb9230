import { randomBytes } from 'node:crypto'

/**
 * A serial number with 128 random bits, always positive and of 17 bytes (RFC 5280 §4.1.2.2 permits 20). The register
 * ensures that an issuer never uses one twice.
 */
export function newSerial(): Buffer {
  const bytes = randomBytes(17)
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f)
  return bytes
}
