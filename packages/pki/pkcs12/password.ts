import { createHash, pbkdf2 } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
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
