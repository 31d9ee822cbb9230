import type { CipherPlan } from './cipher-plan.ts'

/** Parameters of an encryption that the caller chooses. */
export interface EncryptionChoice {
  /** IV of the caller; undefined: it is generated here. */
  readonly iv: Uint8Array | undefined
  /** Length of the data. */
  readonly bytes: number
  /** true: the caller sees the output of a part before it sends the next one. */
  readonly inParts: boolean
}

/**
 * With a shorter random IV, encryptions can be repeated until the IV of another message recurs (SP 800-38D §5.2.1.1,
 * §8.2.2).
 */
const minRandomIvBytes = 12

/**
 * The reason why an encryption in this mode can decrypt ciphertexts of the same key, as a sentence; undefined
 * if it cannot. CTR, OFB, CFB, CCM, GCM and ChaCha20 combine the data with a keystream that the IV chooses
 * (SP 800-38A §6, SP 800-38D §7), so a ciphertext that is encrypted under its own IV is its plaintext. Block
 * outputs for inputs of the caller are that keystream. The modes with a synthetic IV (GCM-SIV, and key
 * wrapping: SP 800-38F, RFC 8452) derive it from the data, and resist an IV that is used twice.
 */
export function whyEncryptionDecrypts(plan: CipherPlan, choice: EncryptionChoice): string | undefined {
  switch (plan.mode) {
    case 'GCM_SIV':
    case 'KW':
      return undefined
    case 'KWP':
      // RFC 5649 §4.1: up to 8 bytes are one block of the cipher.
      return choice.bytes <= 8
        ? 'AESKeyWrapPadding of 8 bytes or fewer is one block of the cipher'
        : undefined
    case 'ECB':
      return 'ECB returns the outputs of the block cipher'
    default:
  }
  if (choice.iv !== undefined) return 'encryption with an IV of the caller can decrypt'
  if (plan.freshIv < Math.min(minRandomIvBytes, plan.block))
    return `encryption with an IV of which the caller chooses all but ${plan.freshIv} bytes can decrypt`
  // The next input of the cipher is the data combined with the last output, which the caller has seen.
  if (plan.mode === 'CBC' && choice.inParts) return 'CBC in parts returns the outputs of the block cipher'
  return undefined
}

/**
 * The reason why decryption in this mode can be used to encrypt, as a message; undefined if it cannot. It can if the
 * keystream is the same in both directions and no tag is checked before the output is returned.
 */
export function whyDecryptionEncrypts({ mode }: CipherPlan): string | undefined {
  return mode === 'CTR' || mode === 'OFB' || mode === 'CFB' || mode === 'CHACHA20'
    ? `${mode === 'CHACHA20' ? 'ChaCha20' : mode} decryption returns the keystream that encryption uses`
    : undefined
}
