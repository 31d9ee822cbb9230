import { randomBytes, randomFillSync } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'
import { type CipherPlan, counterBytes } from './cipher-plan.ts'

/** The IV for OpenSSL, and the part that the client has to get. */
export interface ChosenIv {
  readonly bytes: Uint8Array | null
  /** Set when it was made here. */
  readonly fresh: Buffer | undefined
}

/** RFC 3394 §2.2.3.1 and RFC 5649 §3. */
const wrapIv = Buffer.from('a6a6a6a6a6a6a6a6', 'hex')
const wrapPaddedIv = Buffer.from('a65959a6', 'hex')
const noIv: ChosenIv = { bytes: null, fresh: undefined }

/**
 * The IV of an encryption: the client's, or a random one when it gave none.
 * @throws missing_iv when none is given and RandomIV is false, invalid_input for a wrong length
 */
export function encryptionIv(plan: CipherPlan, given: Uint8Array | undefined, data: number): ChosenIv {
  const { randomIV } = plan.parameters
  if (plan.iv[1] === 0) return withoutIv(plan, given)
  if (given !== undefined) {
    if (randomIV === true)
      throw refuse('invalid_input', 'RandomIV requests a generated IV, but an IV was given.')
    return { bytes: asCipherIv(plan, given, data), fresh: undefined }
  }
  if (randomIV === false) throw missingIv()
  if (plan.freshIv === 0)
    throw refuse('bad_parameters', 'The client must supply an IV with fixed and invocation fields.')
  const fresh = plan.freshIv === pooledLength ? nextIv() : randomBytes(plan.freshIv)
  return { bytes: asCipherIv(plan, fresh, data), fresh }
}

/** The IV of a decryption. @throws missing_iv, invalid_input for a wrong length */
export function decryptionIv(
  plan: CipherPlan,
  given: Uint8Array | undefined,
  data: number,
): Uint8Array | null {
  if (plan.iv[1] === 0) return withoutIv(plan, given).bytes
  if (given === undefined) throw missingIv()
  return asCipherIv(plan, given, data)
}

function withoutIv(plan: CipherPlan, given: Uint8Array | undefined): ChosenIv {
  if (given !== undefined && given.length !== 0) throw refuse('invalid_input', 'This mode has no IV.')
  if (plan.mode === 'KW') return { bytes: wrapIv, fresh: undefined }
  if (plan.mode === 'KWP') return { bytes: wrapPaddedIv, fresh: undefined }
  return noIv
}

function missingIv() {
  return refuse('missing_iv', 'The IV is missing.')
}

function asCipherIv(plan: CipherPlan, iv: Uint8Array, data: number): Uint8Array {
  const [least, most] = plan.iv
  const { ivLength, fixedFieldLength, invocationFieldLength, initialCounterValue } = plan.parameters
  if (iv.length < least || iv.length > most || (ivLength !== undefined && iv.length * 8 !== ivLength))
    throw refuse('iv_length', 'The length of the IV is not allowed for this mode.')
  if (fixedFieldLength !== undefined || invocationFieldLength !== undefined) {
    const sum = (fixedFieldLength ?? 0) + (invocationFieldLength ?? 0)
    if (
      sum > iv.length * 8 ||
      (fixedFieldLength !== undefined && invocationFieldLength !== undefined && sum !== iv.length * 8)
    )
      throw refuse('bad_parameters', 'The lengths of the fields do not add up to the length of the IV.')
  }
  if (plan.mode === 'CHACHA20') return chachaBlock(plan, iv, data)
  if (plan.mode !== 'CTR') return iv
  const bytes = counterBytes(plan.parameters)
  const block = Buffer.alloc(plan.block)
  if (initialCounterValue === undefined) block.set(iv)
  else {
    // SP 800-38A §B.2: a nonce, then the counter, big-endian.
    if (iv.length + bytes !== plan.block)
      throw refuse('iv_length', 'The length of the IV is not allowed for this mode.')
    block.set(iv)
    writeCounter(block, bytes, BigInt(initialCounterValue))
  }
  if (plan.parameters.counterLength !== undefined) {
    const first = readCounter(block, bytes)
    // OpenSSL counts in all 128 bits: data that would overflow a shorter counter are refused, not encrypted
    // differently.
    if (first + BigInt(Math.ceil(data / plan.block)) > 1n << BigInt(bytes * 8)) throw counterOverflow()
  }
  return block
}

/** OpenSSL's form: the counter little-endian, 64 bits before a nonce of 8 bytes, 32 before one of 12 (RFC 8439 §2.3). */
function chachaBlock(plan: CipherPlan, nonce: Uint8Array, data: number): Buffer {
  const bytes = 16 - nonce.length
  if (nonce.length !== 8 && nonce.length !== 12)
    throw refuse('iv_length', 'The length of the IV is not allowed for this mode.')
  const { counterLength, initialCounterValue = 0 } = plan.parameters
  if (counterLength !== undefined && counterLength !== bytes * 8)
    throw refuse('bad_parameters', 'CounterLength does not fit the nonce.')
  const blocks = Math.ceil(data / 64)
  if (initialCounterValue + blocks > 2 ** 32) throw counterOverflow()
  const block = Buffer.alloc(16)
  block.writeUInt32LE(initialCounterValue)
  block.set(nonce, bytes)
  return block
}

function counterOverflow() {
  return refuse('invalid_input', 'The counter would wrap around within the data.')
}

function writeCounter(block: Buffer, bytes: number, value: bigint): void {
  let left = value
  for (let at = block.length - 1; at >= block.length - bytes; at -= 1) {
    block[at] = Number(left & 0xffn)
    left >>= 8n
  }
}

function readCounter(block: Buffer, bytes: number): bigint {
  return BigInt(`0x${block.subarray(block.length - bytes).toString('hex')}`)
}

const pooledLength = 12
const blockLength = pooledLength * 512
let block = Buffer.alloc(0)
let used = 0

/**
 * A random 96-bit IV. One call to the generator serves 512, each a window of its own on a block that is never filled
 * again: no byte is handed out twice.
 */
function nextIv(): Buffer {
  if (used === block.length) {
    block = Buffer.allocUnsafeSlow(blockLength)
    randomFillSync(block)
    used = 0
  }
  const iv = block.subarray(used, used + pooledLength)
  used += pooledLength
  return iv
}
