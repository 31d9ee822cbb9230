import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { decryptDataVerb, encryptDataVerb } from './data.ts'
import { decryptVerb, encryptVerb } from './encrypt.ts'
import { macVerb } from './mac.ts'
import { rewrapVerb } from './rewrap.ts'
import { signVerb, verifyVerb } from './sign.ts'

export const cryptoParts: KmsCommandParts = {
  name: 'crypto',
  summary: 'Encrypt, decrypt, sign and verify files with keys of the key management service',
  about:
    'Uses keys of the key management service, which never leave it. For rights on keys: warder access --help.',
  verbs: [
    encryptVerb,
    decryptVerb,
    rewrapVerb,
    signVerb,
    verifyVerb,
    macVerb,
    encryptDataVerb,
    decryptDataVerb,
  ],
  example: `  warder crypto encrypt report.pdf --key KEY        writes report.pdf.warder
  warder crypto decrypt report.pdf.warder
  warder crypto sign report.pdf --key KEY           writes report.pdf.sig
  warder crypto verify report.pdf --key KEY`,
}

export const crypto = kmsCommand(cryptoParts)
