import { decryptDataVerb, encryptDataVerb } from '../crypto/data.ts'
import { decryptVerb, encryptVerb } from '../crypto/encrypt.ts'
import { macVerb } from '../crypto/mac.ts'
import { signVerb, verifyVerb } from '../crypto/sign.ts'
import { type KmsCommandParts, kmsCommand } from '../kms/index.ts'

export const cryptoParts: KmsCommandParts = {
  name: 'crypto',
  summary: 'encrypts, decrypts, signs and verifies files with keys of the key management service',
  about: 'Uses keys of the key management service. They stay there; who may use which: warder access --help.',
  verbs: [encryptVerb, decryptVerb, signVerb, verifyVerb, macVerb, encryptDataVerb, decryptDataVerb],
  example: `  warder crypto encrypt report.pdf --key KEY        makes report.pdf.warder
  warder crypto decrypt report.pdf.warder
  warder crypto sign report.pdf --key KEY           makes report.pdf.sig
  warder crypto verify report.pdf --key KEY`,
}

export const crypto = kmsCommand(cryptoParts)
