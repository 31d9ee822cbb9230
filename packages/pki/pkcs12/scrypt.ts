import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { type DerElement, derContent, derMembers, derSmallNumber, derTag } from '../asn1/der.ts'
import { pkiError } from '../error.ts'

const derive = promisify<Buffer, Uint8Array, number, object, Buffer>(scrypt)

const what = 'The scrypt parameters'
export const scryptIdentifier = '1.3.6.1.4.1.11591.4.11'
/** Maximum memory of one derivation; files of OpenSSL need 16 MiB. */
const maxMemoryBytes = 64 * 1024 * 1024
/** Maximum bytes processed by a derivation over all lanes: about half a second. */
const maxWork = 4 * maxMemoryBytes
const maxSaltBytes = 1024

/**
 * Derives a key from a password with scrypt (RFC 7914 §7.1), on the thread pool.
 * @param parameters SEQUENCE { salt, cost, blockSize, parallelization, keyLength? }
 * @throws PkiError `malformed`: also when the derivation requires more work than the limit
 */
export async function scryptKey(
  password: string,
  parameters: DerElement | undefined,
  keyBytes: number,
): Promise<Buffer> {
  const [saltNode, ...numbers] = derMembers(parameters?.whole ?? new Uint8Array(), what)
  const salt = derContent(saltNode, derTag.octetString, what)
  const [N = 0, r = 0, p = 0, length = keyBytes, ...others] = numbers.map((node) =>
    derSmallNumber(node, what),
  )
  const memory = 128 * N * r
  // RFC 7914 §2: a power of two below 2^(128·r/8).
  const power = Math.log2(N)
  if (
    N <= 1 ||
    !Number.isInteger(power) ||
    power >= 16 * r ||
    r < 1 ||
    p < 1 ||
    length !== keyBytes ||
    others.length > 0
  )
    throw pkiError('malformed', `${what} are wrong.`)
  if (memory > maxMemoryBytes || memory * p > maxWork || salt.length > maxSaltBytes)
    throw pkiError('malformed', `${what} require too much work.`)
  return derive(Buffer.from(password, 'utf8'), salt, keyBytes, { N, r, p, maxmem: 2 * maxMemoryBytes })
}
