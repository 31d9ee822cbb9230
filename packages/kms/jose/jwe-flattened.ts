import { createSecretKey, randomBytes } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import type { MaybePromise } from '@warder/foundation/sql'
import {
  type ContentEncryption,
  gcmDecrypt,
  gcmEncrypt,
  type KeyManagementAlgorithm,
  type KeyMaterial,
  oaepUnwrapCek,
  oaepWrap,
} from '../crypto/index.ts'
import { type Base64Url, encodeBase64Url } from './base64url.ts'
import type { ContentKeys } from './content-keys.ts'
import { jweHeader } from './protected-header.ts'

/** Flattened JWE (RFC 7516 §7.2.2) with everything in the protected header. */
export interface FlattenedJwe {
  readonly protected: Base64Url
  readonly encrypted_key: Base64Url
  readonly iv: Base64Url
  readonly ciphertext: Base64Url
  readonly tag: Base64Url
  /** base64url; absent when there is none, or it is empty (RFC 7516 §7.2.1). */
  readonly aad?: string
}

export interface ContentCipher {
  readonly name: string
  readonly encryption: ContentEncryption
}

/** ASCII(protected) or ASCII(protected '.' aad), RFC 7516 §5.1 step 14. An empty aad is none (§7.2.1). */
export function additionalData(protectedHeader: string, aad: string | undefined): Buffer {
  return Buffer.from(
    aad === undefined || aad === '' ? protectedHeader : `${protectedHeader}.${aad}`,
    'latin1',
  )
}

/** `dir`: the key is the content encryption key. @throws failure('crypto_failure') when its type or size is another */
export function jweEncryptDirect(
  material: KeyMaterial,
  kid: string,
  enc: ContentCipher,
  plaintext: Uint8Array,
  aad: string | undefined,
): FlattenedJwe {
  requireContentKey(material, enc.encryption)
  return sealContent(material.key, directHeader(material, kid, enc.name), plaintext, aad, '' as Base64Url)
}

interface DirectHeader {
  readonly kid: string
  readonly enc: string
  readonly header: ProtectedHeader
}

/** The last header that each key was used with: a key has one id, and its size allows one `enc`. */
const directHeaders = new WeakMap<KeyMaterial, DirectHeader>()

function directHeader(material: KeyMaterial, kid: string, enc: string): ProtectedHeader {
  const known = directHeaders.get(material)
  if (known !== undefined && known.kid === kid && known.enc === enc) return known.header
  const header = protectedHeader('dir', enc, kid)
  directHeaders.set(material, { kid, enc, header })
  return header
}

/**
 * RSA-OAEP: a new content encryption key for each message, wrapped for the public key, wiped afterwards.
 * @param publicMaterial of the RSA pair
 */
export function jweEncryptOaep(
  publicMaterial: KeyMaterial,
  kid: string,
  alg: { readonly name: string; readonly algorithm: KeyManagementAlgorithm },
  enc: ContentCipher,
  plaintext: Uint8Array,
  aad: string | undefined,
): FlattenedJwe {
  requireRsa(publicMaterial)
  const cek = randomBytes(enc.encryption.bits / 8)
  try {
    const wrapped = oaepWrap(alg.algorithm.oaepHash, publicMaterial.key, cek)
    return sealContent(
      createSecretKey(cek),
      protectedHeader(alg.name, enc.name, kid),
      plaintext,
      aad,
      encodeBase64Url(wrapped),
    )
  } finally {
    cek.fill(0)
  }
}

export interface SealedContent {
  readonly protected: string
  readonly iv: Uint8Array
  readonly ciphertext: Uint8Array
  readonly tag: Uint8Array
  readonly aad: string | undefined
}

/** @throws failure('decryption_failed') for anything that does not open; failure('crypto_failure') for a wrong key */
export function jweDecryptDirect(
  material: KeyMaterial,
  enc: ContentEncryption,
  sealed: SealedContent,
): Buffer {
  requireContentKey(material, enc)
  return gcmDecrypt(material.key, sealed, additionalData(sealed.protected, sealed.aad))
}

/**
 * Opens the content encryption key, or draws a random one (RFC 7516 §11.5, implicit rejection): a wrong
 * `encrypted_key` and a wrong tag end in the same place with the same sentence. What opened is remembered.
 * @throws failure('decryption_failed'); failure('crypto_failure') when the key is not an RSA private key
 */
export function jweDecryptOaep(
  contentKeys: ContentKeys,
  material: KeyMaterial,
  algorithm: KeyManagementAlgorithm,
  enc: ContentEncryption,
  encryptedKey: Uint8Array,
  sealed: SealedContent,
): MaybePromise<Buffer> {
  requireRsa(material)
  if (material.kind !== 'private') throw failure('crypto_failure', 'The private key is not here.')
  const size = enc.bits / 8
  const additional = additionalData(sealed.protected, sealed.aad)
  const wrapping = `${algorithm.oaepHash} ${size} ${encodeBase64Url(encryptedKey)}`
  const known = contentKeys.get(material, wrapping)
  if (known !== undefined) return gcmDecrypt(known, sealed, additional)
  return oaepUnwrapCek(algorithm.oaepHash, material.key, encryptedKey, size).then((cek) => {
    const key = createSecretKey(cek)
    cek.fill(0)
    const plaintext = gcmDecrypt(key, sealed, additional)
    contentKeys.add(material, wrapping, key)
    return plaintext
  })
}

/** A header as it is sent, and the bytes that it adds to the additional data. */
interface ProtectedHeader {
  readonly text: Base64Url
  readonly bytes: Buffer
}

function protectedHeader(alg: string, enc: string, kid: string): ProtectedHeader {
  const text = jweHeader(alg, enc, kid)
  return { text, bytes: additionalData(text, undefined) }
}

function sealContent(
  key: KeyMaterial['key'],
  header: ProtectedHeader,
  plaintext: Uint8Array,
  aad: string | undefined,
  encryptedKey: Base64Url,
): FlattenedJwe {
  const bare = aad === undefined || aad === ''
  const additional = bare ? header.bytes : additionalData(header.text, aad)
  const { iv, ciphertext, tag } = gcmEncrypt(key, plaintext, additional)
  const jwe = {
    protected: header.text,
    encrypted_key: encryptedKey,
    iv: encodeBase64Url(iv),
    ciphertext: encodeBase64Url(ciphertext),
    tag: encodeBase64Url(tag),
  }
  return bare ? jwe : { ...jwe, aad }
}

function requireContentKey(material: KeyMaterial, enc: ContentEncryption): void {
  if (material.kind !== 'secret' || material.algorithm !== 'AES' || material.bits !== enc.bits) {
    throw failure('crypto_failure', `The key is not an AES key of ${enc.bits} bits, which this enc needs.`)
  }
}

function requireRsa(material: KeyMaterial): void {
  if (material.algorithm !== 'RSA')
    throw failure('crypto_failure', 'The key is not an RSA key, which this alg needs.')
}
