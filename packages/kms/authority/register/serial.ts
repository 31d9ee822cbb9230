import { randomBytes } from 'node:crypto'

/**
 * A serial number with 128 random bits, positive and of 17 bytes whatever they are (RFC 5280 §4.1.2.2 allows 20). That
 * an issuer never uses one twice is the register's to see to.
 */
export function newSerial(): Buffer {
  const bytes = randomBytes(17)
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f)
  return bytes
}
