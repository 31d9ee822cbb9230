/**
 * Recipients of age (age-encryption.org/v1): an X25519 public key in Bech32 (BIP 173) with the prefix `age`. Those of
 * plugins (`age1yubikey1…`), of post-quantum keys (`age1pq1…`) and of SSH keys are other kinds of recipients.
 */

export const bech32Alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3] as const
const checksumLength = 6
const keyBytes = 32

/** @returns the X25519 public key, 32 bytes; undefined: it is no such recipient, or was mistyped */
export function parseAgeRecipient(text: string): Buffer | undefined {
  if (!/^(?:age1[a-z0-9]{58}|AGE1[A-Z0-9]{58})$/.test(text)) return undefined
  const lower = text.toLowerCase()
  const values = Array.from(lower.slice('age1'.length), (letter) => bech32Alphabet.indexOf(letter))
  if (values.includes(-1) || computeBech32Checksum(values) !== 1) return undefined
  const bytes = toBytes(values.slice(0, -checksumLength))
  return bytes?.length === keyBytes ? bytes : undefined
}

/** The prefix `age`, as BIP 173 expands it. */
const prefix = [3, 3, 3, 0, 1, 7, 5]

/** 1 for the values of a recipient with their checksum; exported for the identities of tests. */
export function computeBech32Checksum(values: readonly number[]): number {
  let state = 1
  for (const value of [...prefix, ...values]) {
    const top = state >>> 25
    state = ((state & 0x1ffffff) << 5) ^ value
    for (const [bit, generator] of generators.entries()) if ((top >>> bit) & 1) state ^= generator
  }
  return state >>> 0
}

/** @returns undefined where the padding is not zero */
function toBytes(values: readonly number[]): Buffer | undefined {
  const bytes: number[] = []
  let [held, bits] = [0, 0]
  for (const value of values) {
    held = (held << 5) | value
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((held >>> bits) & 0xff)
    }
    held &= (1 << bits) - 1
  }
  return bits < 5 && held === 0 ? Buffer.from(bytes) : undefined
}
