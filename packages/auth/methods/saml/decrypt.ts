import { constants, createDecipheriv, type KeyObject, privateDecrypt } from 'node:crypto'
import { children, onlyChild, readAttribute, readText, type XmlElement } from './xml.ts'
import { XmlRefused } from './xml-gate.ts'

const xmlenc = 'http://www.w3.org/2001/04/xmlenc#'
const xmlenc11 = 'http://www.w3.org/2009/xmlenc11#'

/**
 * Content encryption: AES-GCM (XML Encryption 1.1 §5.2.4). CBC is refused, because it allows padding oracle attacks.
 */
const ciphers: Readonly<
  Record<string, { readonly name: 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm'; readonly bytes: number }>
> = {
  [`${xmlenc11}aes128-gcm`]: { name: 'aes-128-gcm', bytes: 16 },
  [`${xmlenc11}aes192-gcm`]: { name: 'aes-192-gcm', bytes: 24 },
  [`${xmlenc11}aes256-gcm`]: { name: 'aes-256-gcm', bytes: 32 },
}

/** Digests and mask generation of RSA-OAEP (§5.5.2). SHA-1 is the default of the standard and no weakness in OAEP. */
const oaepDigests: Readonly<Record<string, string>> = {
  'http://www.w3.org/2000/09/xmldsig#sha1': 'sha1',
  [`${xmlenc}sha256`]: 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  [`${xmlenc}sha512`]: 'sha512',
}
const maskDigests: Readonly<Record<string, string>> = {
  [`${xmlenc11}mgf1sha1`]: 'sha1',
  [`${xmlenc11}mgf1sha256`]: 'sha256',
  [`${xmlenc11}mgf1sha384`]: 'sha384',
  [`${xmlenc11}mgf1sha512`]: 'sha512',
}

const ivBytes = 12
const tagBytes = 16
/** Base64 with line ends; a message has at most 256 KiB. */
const base64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/

const undecipherable = () => new XmlRefused('the encrypted assertion cannot be decrypted')

/**
 * Decrypts EncryptedData, whose key is in an EncryptedKey beside it or in its KeyInfo (SAML 2.0 core §2.3.4, §6).
 * @param wrapper the EncryptedAssertion
 * @param keys private RSA keys; it may be encrypted for any of them
 * @returns the bytes, which are not authenticated yet
 * @throws XmlRefused, with the same message for every cryptographic failure
 */
export function decryptElement(wrapper: XmlElement, keys: readonly KeyObject[]): Uint8Array {
  const data = onlyChild(wrapper, 'encryption', 'EncryptedData')
  if (data === undefined) throw new XmlRefused('EncryptedAssertion has no EncryptedData')
  const cipher = lookUp(
    ciphers,
    readEncryptionMethod(data).algorithm,
    'the content encryption is not allowed: use AES-GCM',
  )
  const contentKey = unwrapContentKey(findEncryptedKey(wrapper, data), cipher.bytes, keys)
  const bytes = readCipherValue(data)
  if (bytes.length < ivBytes + tagBytes) throw undecipherable()
  const decipher = createDecipheriv(cipher.name, contentKey, bytes.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  })
  contentKey.fill(0)
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()])
  } catch {
    throw undecipherable()
  }
}

function findEncryptedKey(wrapper: XmlElement, data: XmlElement): XmlElement {
  const info = onlyChild(data, 'signature', 'KeyInfo')
  const inside = info === undefined ? [] : children(info, 'encryption', 'EncryptedKey')
  const [key, other] = [...inside, ...children(wrapper, 'encryption', 'EncryptedKey')]
  if (key === undefined || other !== undefined) throw new XmlRefused('there must be one EncryptedKey')
  return key
}

function unwrapContentKey(encrypted: XmlElement, bytes: number, keys: readonly KeyObject[]): Buffer {
  const { algorithm, element } = readEncryptionMethod(encrypted)
  const isOaep = algorithm === `${xmlenc}rsa-oaep-mgf1p` || algorithm === `${xmlenc11}rsa-oaep`
  if (!isOaep) throw new XmlRefused('the key transport is not allowed: use RSA-OAEP')
  if (onlyChild(element, 'encryption', 'OAEPparams') !== undefined) throw undecipherable()
  const digest = onlyChild(element, 'signature', 'DigestMethod')
  const oaepHash = readAlgorithm(digest, oaepDigests) ?? 'sha1'
  const mask = readAlgorithm(onlyChild(element, 'encryption11', 'MGF'), maskDigests) ?? 'sha1'
  // RFC 8017 §7.1.2 allows different digests; OpenSSL removes the padding in constant time only for equal
  // ones.
  if (oaepHash !== mask) throw new XmlRefused('the label and the mask of RSA-OAEP must use the same digest')
  const value = readCipherValue(encrypted)
  for (const key of keys) {
    const found = rsaOaep(key, value, oaepHash)
    if (found?.length === bytes) return found
  }
  throw undecipherable()
}

function rsaOaep(key: KeyObject, value: Buffer, oaepHash: string): Buffer | undefined {
  try {
    return privateDecrypt({ key, oaepHash, padding: constants.RSA_PKCS1_OAEP_PADDING }, value)
  } catch {
    return undefined
  }
}

function readEncryptionMethod(element: XmlElement): {
  readonly algorithm: string
  readonly element: XmlElement
} {
  const method = onlyChild(element, 'encryption', 'EncryptionMethod')
  if (method === undefined) throw new XmlRefused('there is no EncryptionMethod')
  return { algorithm: readAttribute(method, 'Algorithm') ?? '', element: method }
}

function readAlgorithm(
  element: XmlElement | undefined,
  known: Readonly<Record<string, string>>,
): string | undefined {
  if (element === undefined) return undefined
  return lookUp(known, readAttribute(element, 'Algorithm') ?? '', 'the digest of RSA-OAEP is not allowed')
}

function lookUp<T>(known: Readonly<Record<string, T>>, name: string, otherwise: string): T {
  const found = Object.hasOwn(known, name) ? known[name] : undefined
  if (found === undefined) throw new XmlRefused(otherwise)
  return found
}

function readCipherValue(element: XmlElement): Buffer {
  const data = onlyChild(element, 'encryption', 'CipherData')
  const value = data && onlyChild(data, 'encryption', 'CipherValue')
  const text = value === undefined ? undefined : readText(value)
  if (text === undefined || !base64.test(text)) throw new XmlRefused('there is no CipherValue')
  return Buffer.from(text, 'base64')
}
