import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
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

/** What is sealed, and what stands beside it in the JWE. */
export interface OpenContent {
  readonly protected: Base64Url
  readonly encryptedKey: Base64Url
  readonly plaintext: Uint8Array
  /** What is authenticated beside the plaintext. */
  readonly additional: Buffer
  /** base64url; undefined when there is none, or it is empty. */
  readonly aad: string | undefined
}

/** Encrypts content with its content encryption key, here or elsewhere. */
export type ContentSealer<R> = (key: KeyObject, content: OpenContent) => R

/** Decrypts content, or throws failure('decryption_failed'). */
export type ContentOpener<R> = (key: KeyObject, sealed: SealedContent, additional: Buffer) => R

/** ASCII(protected) or ASCII(protected '.' aad), RFC 7516 §5.1 step 14. An empty aad is none (§7.2.1). */
export function additionalData(protectedHeader: string, aad: string | undefined): Buffer {
  return Buffer.from(
    aad === undefined || aad === '' ? protectedHeader : `${protectedHeader}.${aad}`,
    'latin1',
  )
}

/** `dir`: the key is the content encryption key. @throws failure('crypto_failure') when its type or size is another */
export function jweEncryptDirect<R>(
  seal: ContentSealer<R>,
  material: KeyMaterial,
  kid: string,
  enc: ContentCipher,
  plaintext: Uint8Array,
  aad: string | undefined,
): R {
  requireContentKey(material, enc.encryption)
  const header = directHeader(material, kid, enc.name)
  return seal(material.key, contentOf(header, plaintext, aad, '' as Base64Url))
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
export function jweEncryptOaep<R>(
  seal: ContentSealer<R>,
  publicMaterial: KeyMaterial,
  kid: string,
  alg: { readonly name: string; readonly algorithm: KeyManagementAlgorithm },
  enc: ContentCipher,
  plaintext: Uint8Array,
  aad: string | undefined,
): R {
  requireRsa(publicMaterial)
  const cek = randomBytes(enc.encryption.bits / 8)
  try {
    const wrapped = oaepWrap(alg.algorithm.oaepHash, publicMaterial.key, cek)
    const header = protectedHeader(alg.name, enc.name, kid)
    return seal(createSecretKey(cek), contentOf(header, plaintext, aad, encodeBase64Url(wrapped)))
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
export function jweDecryptDirect<R>(
  open: ContentOpener<R>,
  material: KeyMaterial,
  enc: ContentEncryption,
  sealed: SealedContent,
): R {
  requireContentKey(material, enc)
  return open(material.key, sealed, additionalData(sealed.protected, sealed.aad))
}

/**
 * Opens the content encryption key, or draws a random one (RFC 7516 §11.5, implicit rejection): a wrong
 * `encrypted_key` and a wrong tag end in the same place with the same sentence. What opened is remembered.
 * @throws failure('decryption_failed'); failure('crypto_failure') when the key is not an RSA private key
 */
export function jweDecryptOaep<R>(
  open: ContentOpener<MaybePromise<R>>,
  contentKeys: ContentKeys,
  material: KeyMaterial,
  algorithm: KeyManagementAlgorithm,
  enc: ContentEncryption,
  encryptedKey: Uint8Array,
  sealed: SealedContent,
): MaybePromise<R> {
  requireRsa(material)
  if (material.kind !== 'private') throw failure('crypto_failure', 'The private key is not here.')
  const size = enc.bits / 8
  const additional = additionalData(sealed.protected, sealed.aad)
  const wrapping = `${algorithm.oaepHash} ${size} ${encodeBase64Url(encryptedKey)}`
  const known = contentKeys.get(material, wrapping)
  if (known !== undefined) return open(known, sealed, additional)
  return oaepUnwrapCek(algorithm.oaepHash, material.key, encryptedKey, size).then(async (cek) => {
    const key = createSecretKey(cek)
    cek.fill(0)
    const opened = await open(key, sealed, additional)
    contentKeys.add(material, wrapping, key)
    return opened
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

function contentOf(
  header: ProtectedHeader,
  plaintext: Uint8Array,
  aad: string | undefined,
  encryptedKey: Base64Url,
): OpenContent {
  const bare = aad === undefined || aad === ''
  return {
    protected: header.text,
    encryptedKey,
    plaintext,
    additional: bare ? header.bytes : additionalData(header.text, aad),
    aad: bare ? undefined : aad,
  }
}

/** Seals in this turn of the event loop. */
export const sealNow: ContentSealer<FlattenedJwe> = (key, content) => {
  const { iv, ciphertext, tag } = gcmEncrypt(key, content.plaintext, content.additional)
  const jwe = {
    protected: content.protected,
    encrypted_key: content.encryptedKey,
    iv: encodeBase64Url(iv),
    ciphertext: encodeBase64Url(ciphertext),
    tag: encodeBase64Url(tag),
  }
  return content.aad === undefined ? jwe : { ...jwe, aad: content.aad }
}

/** Opens in this turn of the event loop. */
export const openNow: ContentOpener<Buffer> = gcmDecrypt

function requireContentKey(material: KeyMaterial, enc: ContentEncryption): void {
  if (material.kind !== 'secret' || material.algorithm !== 'AES' || material.bits !== enc.bits) {
    throw failure('crypto_failure', `The key is not an AES key of ${enc.bits} bits, which this enc needs.`)
  }
}

function requireRsa(material: KeyMaterial): void {
  if (material.algorithm !== 'RSA')
    throw failure('crypto_failure', 'The key is not an RSA key, which this alg needs.')
}
