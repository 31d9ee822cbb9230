import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import {
  type DerElement,
  derContent,
  derIdentifier,
  derMembers,
  derNull,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { parsePkcs8 } from '../keys/pkcs8.ts'
import { aes256, ciphers, hashes, oid, sha1, sha256, tripleDes } from './identifiers.ts'
import { pbes2Key, pkcs12Key, purpose, scryptIdentifier, scryptKey } from './password.ts'

const what = 'The protected file'
/**
 * Iterations for new files. SP 800-132 recommends as many as users tolerate; decryption stays below a tenth of a
 * second.
 */
const iterations = 100_000
const legacyIterations = 2048

export interface Protection {
  /** true: 3DES and SHA-1, for programs that support nothing else. */
  readonly legacy: boolean
}

/** Encrypts with the password. @returns DER of the AlgorithmIdentifier, and the ciphertext */
export async function protect(
  password: string,
  plain: Uint8Array,
  { legacy }: Protection,
): Promise<{ readonly algorithm: Buffer; readonly encrypted: Buffer }> {
  const salt = randomBytes(16)
  if (legacy) {
    const key = await pkcs12Key(password, salt, legacyIterations, tripleDes.keyBytes, purpose.key, sha1)
    const iv = await pkcs12Key(password, salt, legacyIterations, tripleDes.ivBytes, purpose.iv, sha1)
    const parameters = derSequence(derOctets(salt), derNumber(legacyIterations))
    return {
      algorithm: derSequence(derObjectIdentifier(oid.sha1AndTripleDes), parameters),
      encrypted: encrypt(tripleDes.node, key, iv, plain),
    }
  }
  const key = await pbes2Key(password, salt, iterations, aes256.keyBytes, sha256)
  const iv = randomBytes(aes256.ivBytes)
  const prf = derSequence(derObjectIdentifier(sha256.prf), derNull)
  const derivation = derSequence(
    derObjectIdentifier(oid.pbkdf2),
    derSequence(derOctets(salt), derNumber(iterations), prf),
  )
  const cipher = derSequence(derObjectIdentifier(aes256.identifier), derOctets(iv))
  return {
    algorithm: derSequence(derObjectIdentifier(oid.pbes2), derSequence(derivation, cipher)),
    encrypted: encrypt(aes256.node, key, iv, plain),
  }
}

function encrypt(cipherName: string, key: Buffer, iv: Uint8Array, plain: Uint8Array): Buffer {
  const cipher = createCipheriv(cipherName, key, iv)
  key.fill(0)
  return Buffer.concat([cipher.update(plain), cipher.final()])
}

/**
 * Decrypts data with the algorithm and the password.
 * @throws PkiError `unsupported_protection`, `wrong_password`
 */
export async function unprotect(
  password: string,
  algorithm: DerElement | undefined,
  encrypted: Uint8Array,
): Promise<Buffer> {
  const [identifier, parameters] = derMembers(algorithm?.whole ?? new Uint8Array(), what)
  const { cipher, key, iv } = await readScheme(password, derIdentifier(identifier, what), parameters)
  const decipher = createDecipheriv(cipher, key, iv)
  key.fill(0)
  try {
    return Buffer.concat([decipher.update(encrypted), decipher.final()])
  } catch {
    throw pkiError('wrong_password', 'The password does not decrypt the file.')
  }
}

async function readScheme(password: string, identifier: string, parameters: DerElement | undefined) {
  const members = derMembers(parameters?.whole ?? new Uint8Array(), what)
  if (identifier === oid.sha1AndTripleDes) {
    const salt = derContent(members[0], derTag.octetString, what)
    const rounds = derSmallNumber(members[1], what)
    return {
      cipher: tripleDes.node,
      key: await pkcs12Key(password, salt, rounds, tripleDes.keyBytes, purpose.key, sha1),
      iv: (await pkcs12Key(password, salt, rounds, tripleDes.ivBytes, purpose.iv, sha1)) as Uint8Array,
    }
  }
  // RFC 7292 appendix C: tools from before 2017 protect certificates with RC2.
  if (identifier === '1.2.840.113549.1.12.1.5' || identifier === '1.2.840.113549.1.12.1.6')
    throw pkiError(
      'unsupported_protection',
      'The file is protected by RC2, which is not supported: create it again with AES (openssl pkcs12 -legacy reads it).',
    )
  if (identifier !== oid.pbes2) throw protectionError()
  const [derivation, encryption] = members
  const [cipherName, ivElement] = derMembers(encryption?.whole ?? new Uint8Array(), what)
  const row = ciphers.find((each) => each.identifier === derIdentifier(cipherName, what))
  const iv = derContent(ivElement, derTag.octetString, what)
  if (row === undefined || iv.length !== row.ivBytes) throw protectionError()
  return { cipher: row.node, key: await deriveKey(password, derivation, row.keyBytes), iv }
}

async function deriveKey(
  password: string,
  derivation: DerElement | undefined,
  keyBytes: number,
): Promise<Buffer> {
  const [identifier, parameters] = derMembers(derivation?.whole ?? new Uint8Array(), what)
  const derivationName = derIdentifier(identifier, what)
  if (derivationName === scryptIdentifier) return scryptKey(password, parameters, keyBytes)
  if (derivationName !== oid.pbkdf2) throw protectionError()
  const [salt, rounds, ...others] = derMembers(parameters?.whole ?? new Uint8Array(), what)
  const prf = others.find(({ tag }) => tag === derTag.sequence)
  const named = prf === undefined ? sha1.prf : derIdentifier(derMembers(prf.whole, what)[0], what)
  const hash = hashes.find((each) => each.prf === named)
  if (hash === undefined) throw protectionError()
  return pbes2Key(
    password,
    derContent(salt, derTag.octetString, what),
    derSmallNumber(rounds, what),
    keyBytes,
    hash,
  )
}

function protectionError() {
  return pkiError('unsupported_protection', 'The file is protected by an algorithm that is not supported.')
}

const encryptedKey = 'The encrypted PKCS#8 key'

/** Whether this is an EncryptedPrivateKeyInfo (RFC 5958 §3). An unencrypted key starts with its version. */
export function isEncryptedPkcs8(bytes: Uint8Array): boolean {
  try {
    const [algorithm, encrypted, ...others] = derMembers(bytes, encryptedKey)
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
  const [algorithm, encrypted] = derMembers(bytes, encryptedKey)
  const opened = await unprotect(password, algorithm, derContent(encrypted, derTag.octetString, encryptedKey))
  try {
    parsePkcs8(opened)
  } catch {
    // A wrong password yields a valid padding in one of 256 cases.
    opened.fill(0)
    throw pkiError('wrong_password', 'The password does not decrypt the file.')
  }
  return opened
}
