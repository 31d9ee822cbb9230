import { derContent, derMembers, derTag } from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import { parsePkcs8 } from '../keys/pkcs8.ts'
import { unprotect } from './encryption.ts'

const what = 'The encrypted PKCS#8 key'

/** Whether this is an EncryptedPrivateKeyInfo (RFC 5958 §3). An unencrypted key starts with its version. */
export function isEncryptedPkcs8(bytes: Uint8Array): boolean {
  try {
    const [algorithm, encrypted, ...others] = derMembers(bytes, what)
    return algorithm?.tag === derTag.sequence && encrypted?.tag === derTag.octetString && others.length === 0
  } catch {
    return false
  }
}

/**
 * Decrypts an EncryptedPrivateKeyInfo.
 * @returns unencrypted PKCS#8 DER; the caller must wipe it
 * @throws PkiError `wrong_password`, `unsupported_protection`, `malformed`: also when the file requires more
 *   work than the limit
 */
export async function openPkcs8(bytes: Uint8Array, password: string): Promise<Uint8Array> {
  const [algorithm, encrypted] = derMembers(bytes, what)
  const opened = await unprotect(password, algorithm, derContent(encrypted, derTag.octetString, what))
  try {
    parsePkcs8(opened)
  } catch {
    // A wrong password yields a valid padding in one of 256 cases.
    opened.fill(0)
    throw pkiError('wrong_password', 'The password does not decrypt the file.')
  }
  return opened
}
