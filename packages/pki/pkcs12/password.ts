import { createHash, pbkdf2, scrypt } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type DerElement, derContent, derMembers, derSmallNumber, derTag } from '../der.ts'
import { pkiError } from '../error.ts'
import type { HashRow } from './identifiers.ts'

const derive = promisify(pbkdf2)

/** Maximum number of iterations for an imported file. */
const maxIterations = 1_000_000
/** Number of rounds after which the event loop runs other tasks. */
const roundsInOneTurn = 2000
const maxSaltBytes = 1024

/** Purpose of a derived value (RFC 7292 §B.3). */
export const purpose = { key: 1, iv: 2, mac: 3 } as const

/** PBKDF2 of a password in UTF-8 (RFC 8018 §5.2), on the thread pool. @throws PkiError */
export function pbes2Key(
  password: string,
  salt: Uint8Array,
  iterations: number,
  bytes: number,
  hash: HashRow,
): Promise<Buffer> {
  requireBounded(salt, iterations)
  return derive(Buffer.from(password, 'utf8'), salt, iterations, bytes, hash.node)
}

/** Derives a key as in RFC 7292 §B.2, from the password in UTF-16 with a final NUL. @throws PkiError */
export async function pkcs12Key(
  password: string,
  salt: Uint8Array,
  iterations: number,
  bytes: number,
  id: (typeof purpose)[keyof typeof purpose],
  { node, block, bytes: digestBytes }: HashRow,
): Promise<Buffer> {
  requireBounded(salt, iterations)
  const text = Buffer.from(`${password}\u0000`, 'utf16le').swap16()
  const diversifier = Buffer.alloc(block, id)
  const input = Buffer.concat([fillBlocks(salt, block), fillBlocks(text, block)])
  const derived: Buffer[] = []
  for (let have = 0; have < bytes; have += digestBytes) {
    let digest = createHash(node).update(diversifier).update(input).digest()
    for (let round = 1; round < iterations; round += 1) {
      digest = createHash(node).update(digest).digest()
      if (round % roundsInOneTurn === 0) await nextTurn()
    }
    derived.push(digest)
    const adder = fillBlocks(digest, block).subarray(0, block)
    for (let at = 0; at < input.length; at += block) addOne(input.subarray(at, at + block), adder)
  }
  text.fill(0)
  input.fill(0)
  return Buffer.concat(derived).subarray(0, bytes)
}

/** Repeats bytes to fill whole blocks. */
function fillBlocks(bytes: Uint8Array, block: number): Buffer {
  const filled = Buffer.alloc(Math.ceil(bytes.length / block) * block)
  for (let at = 0; at < filled.length; at += 1) filled[at] = bytes[at % bytes.length] ?? 0
  return filled
}

/** target = target + adder + 1 modulo 2^(8·length), big-endian. */
function addOne(target: Buffer, adder: Buffer): void {
  let carry = 1
  for (let at = target.length - 1; at >= 0; at -= 1) {
    const sum = (target[at] ?? 0) + (adder[at] ?? 0) + carry
    target[at] = sum & 0xff
    carry = sum >> 8
  }
}

function requireBounded(salt: Uint8Array, iterations: number): void {
  if (iterations < 1 || iterations > maxIterations || salt.length > maxSaltBytes)
    throw pkiError('malformed', 'The file requires too many iterations to decrypt it.')
}

const deriveScrypt = promisify<Buffer, Uint8Array, number, object, Buffer>(scrypt)

const what = 'The scrypt parameters'
export const scryptIdentifier = '1.3.6.1.4.1.11591.4.11'
/** Maximum memory of one derivation; files of OpenSSL need 16 MiB. */
const maxMemoryBytes = 64 * 1024 * 1024
/** Maximum bytes processed by a derivation over all lanes: about half a second. */
const maxWork = 4 * maxMemoryBytes

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
  return deriveScrypt(Buffer.from(password, 'utf8'), salt, keyBytes, { N, r, p, maxmem: 2 * maxMemoryBytes })
}
