import { createHash } from 'node:crypto'

const hashBytes = 32

/** Values on which two parties agree in addition to the secret (RFC 7518 §4.6.2). */
export interface AgreementContext {
  /** The name that goes into AlgorithmID: `enc` of direct agreement, else `alg`. */
  readonly algorithm: string
  /** Bits of the derived key. */
  readonly bits: number
  readonly partyU: Uint8Array
  readonly partyV: Uint8Array
}

/** Concat KDF (SP 800-56A §5.8.1) with SHA-256, as in JOSE (RFC 7518 §4.6.2). The caller must wipe the result. */
export function concatKdf(secret: Uint8Array, context: AgreementContext): Buffer {
  const bytes = context.bits / 8
  const info = [
    lengthAnd(Buffer.from(context.algorithm, 'ascii')),
    lengthAnd(context.partyU),
    lengthAnd(context.partyV),
    counter(context.bits),
  ]
  const blocks = Array.from({ length: Math.ceil(bytes / hashBytes) }, (_, index) => {
    const hash = createHash('sha256')
      .update(counter(index + 1))
      .update(secret)
    for (const part of info) hash.update(part)
    return hash.digest()
  })
  const whole = Buffer.concat(blocks)
  for (const block of blocks) block.fill(0)
  const key = Buffer.from(whole.subarray(0, bytes))
  whole.fill(0)
  return key
}

/** Datalen and Data (RFC 7518 §4.6.2). */
export function lengthAnd(data: Uint8Array): Buffer {
  return Buffer.concat([counter(data.length), data])
}

/** 32 bits, big-endian. */
export function counter(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
