import { createSecretKey, randomBytes } from 'node:crypto'
import { andThen, failure, type MaybePromise } from '@warder/base'
import type { ContentEncryption, KeyManagementAlgorithm } from '../algorithms/algorithms.ts'
import { noParameters } from '../algorithms/parameters.ts'
import type { BackendKey } from '../backend/key-backend.ts'
import { type DescribedKey, softwareKey } from '../backend/software.ts'
import { type CipherPlan, planCipher } from '../cipher/cipher-plan.ts'
import type { Encrypted } from '../cipher/symmetric.ts'
import type { KeyMaterial, MaterialDescriptor } from '../material/material.ts'
import { oaepWrap } from '../rsa/rsa-oaep.ts'
import { type Base64Url, encodeBase64Url } from './base64url.ts'
import type { SentKey } from './content-key.ts'
import { jweHeader } from './protected-header.ts'

type OfOneKey = Map<string, BackendKey>

interface Slot {
  /** Weak, so that the entries of a key are released together with the key. */
  readonly of: WeakRef<OfOneKey>
  readonly wrapping: string
}

/**
 * Caches the content keys of decrypted tokens, so that a token that is read often costs one private operation. Only
 * keys that the tag of a whole token has verified are cached: a faster response reveals nothing that the previous
 * response did not, and substitutes of wrong content keys (RFC 7516 §11.5) are never cached. Beyond `capacity` the
 * oldest is evicted; entries of an RSA key live no longer than its material in memory.
 */
export class ContentKeys {
  readonly #opened = new WeakMap<DescribedKey, { readonly map: OfOneKey; readonly weak: WeakRef<OfOneKey> }>()
  readonly #places: Slot[] = []
  readonly #capacity: number
  #next = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** @param wrapping all parameters of the wrapping of the content key, and its size */
  get(key: DescribedKey, wrapping: string): BackendKey | undefined {
    return this.#opened.get(key)?.map.get(wrapping)
  }

  add(key: DescribedKey, wrapping: string, contentKey: BackendKey): void {
    let known = this.#opened.get(key)
    if (known === undefined) {
      const map: OfOneKey = new Map()
      known = { map, weak: new WeakRef(map) }
      this.#opened.set(key, known)
    }
    if (known.map.has(wrapping)) return
    const oldest = this.#places[this.#next]
    oldest?.of.deref()?.delete(oldest.wrapping)
    this.#places[this.#next] = { of: known.weak, wrapping }
    this.#next = (this.#next + 1) % this.#capacity
    known.map.set(wrapping, contentKey)
  }
}

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

interface ContentCipher {
  readonly name: string
  readonly encryption: ContentEncryption
}

/** Content to encrypt, and the other members of the JWE. */
interface OpenContent {
  readonly protected: Base64Url
  readonly encryptedKey: Base64Url
  readonly plaintext: Uint8Array
  /** Additional authenticated data. */
  readonly additional: Buffer
  /** base64url; undefined when there is none, or it is empty. */
  readonly aad: string | undefined
}

/** Encrypts content with its content encryption key, here or elsewhere. */
export type ContentSealer<R> = (key: BackendKey, plan: CipherPlan, content: OpenContent) => R

/** Decrypts content, or throws failure('decryption_failed'). */
export type ContentOpener<R> = (
  key: BackendKey,
  plan: CipherPlan,
  sealed: SealedContent,
  additional: Buffer,
) => R

/** AES-GCM with an IV of 96 bits, made here, and a tag of 128 bits (RFC 7518 §5.3), by the bits of the key. */
const plans = new Map([128, 192, 256].map((bits) => [bits, gcmPlan(bits)]))

function gcmPlan(bits: number): CipherPlan {
  return { ...planCipher('AES', bits / 8, noParameters, { fips: false }), iv: [12, 12] }
}

export function contentPlan({ bits }: Pick<ContentEncryption, 'bits'>): CipherPlan {
  return plans.get(bits) ?? gcmPlan(bits)
}

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
  key: DescribedKey,
  kid: string,
  enc: ContentCipher,
  plaintext: Uint8Array,
  aad: string | undefined,
): R {
  requireContentKey(key, enc.encryption)
  const header = directHeader(key, kid, enc.name)
  return seal(key.held, contentPlan(enc.encryption), toOpenContent(header, plaintext, aad, '' as Base64Url))
}

interface DirectHeader {
  readonly kid: string
  readonly enc: string
  readonly header: ProtectedHeader
}

/** The last header that each key was used with: a key has one id, and its size allows one `enc`. */
const directHeaders = new WeakMap<DescribedKey, DirectHeader>()

function directHeader(key: DescribedKey, kid: string, enc: string): ProtectedHeader {
  const known = directHeaders.get(key)
  if (known !== undefined && known.kid === kid && known.enc === enc) return known.header
  const header = createProtectedHeader('dir', enc, kid)
  directHeaders.set(key, { kid, enc, header })
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
    const header = createProtectedHeader(alg.name, enc.name, kid)
    const content = toOpenContent(header, plaintext, aad, encodeBase64Url(wrapped))
    return seal(softwareKey(createSecretKey(cek)), contentPlan(enc.encryption), content)
  } finally {
    cek.fill(0)
  }
}

/** Encrypts content under a key that is transported as `sent` describes (`content-key.ts`). */
export function jweEncryptSent<R>(
  seal: ContentSealer<R>,
  sent: Pick<SentKey, 'contentKey' | 'encryptedKey' | 'members'>,
  alg: string,
  kid: string,
  enc: ContentCipher,
  plaintext: Uint8Array,
  aad: string | undefined,
): R {
  const text = jweHeader(alg, enc.name, kid, sent.members)
  const header = { text, bytes: additionalData(text, undefined) }
  const content = toOpenContent(header, plaintext, aad, encodeBase64Url(sent.encryptedKey))
  return seal(sent.contentKey, contentPlan(enc.encryption), content)
}

/** @throws failure('decryption_failed') for all causes */
export function jweDecryptReceived<R>(
  open: ContentOpener<R>,
  contentKey: BackendKey,
  enc: ContentEncryption,
  sealed: SealedContent,
): R {
  return open(contentKey, contentPlan(enc), sealed, additionalData(sealed.protected, sealed.aad))
}

export interface SealedContent {
  readonly protected: string
  readonly iv: Uint8Array
  readonly ciphertext: Uint8Array
  readonly tag: Uint8Array
  readonly aad: string | undefined
}

/** @throws failure('decryption_failed') if decryption fails for any cause; failure('crypto_failure') for a wrong key */
export function jweDecryptDirect<R>(
  open: ContentOpener<R>,
  key: DescribedKey,
  enc: ContentEncryption,
  sealed: SealedContent,
): R {
  requireContentKey(key, enc)
  return open(key.held, contentPlan(enc), sealed, additionalData(sealed.protected, sealed.aad))
}

/**
 * Decrypts the content encryption key, or substitutes a random one (RFC 7516 §11.5, implicit rejection): a wrong
 * `encrypted_key` and a wrong tag fail at the same step with the same message. Decrypted keys are cached.
 * @throws failure('decryption_failed'); failure('crypto_failure') when the key is not an RSA private key
 */
export function jweDecryptOaep<R>(
  open: ContentOpener<MaybePromise<R>>,
  contentKeys: ContentKeys,
  key: DescribedKey,
  algorithm: KeyManagementAlgorithm,
  enc: ContentEncryption,
  encryptedKey: Uint8Array,
  sealed: SealedContent,
): MaybePromise<R> {
  requireRsa(key)
  if (key.kind !== 'private') throw failure('crypto_failure', 'The service does not have the private key.')
  const size = enc.bits / 8
  const additional = additionalData(sealed.protected, sealed.aad)
  const wrapping = `${algorithm.oaepHash} ${size} ${encodeBase64Url(encryptedKey)}`
  const plan = contentPlan(enc)
  const known = contentKeys.get(key, wrapping)
  if (known !== undefined) return open(known, plan, sealed, additional)
  const unwrapAndOpen = async (): Promise<R> => {
    const cek = await key.held.unwrapContentKey(algorithm.oaepHash, encryptedKey, size)
    const contentKey = softwareKey(createSecretKey(cek))
    cek.fill(0)
    const opened = await open(contentKey, plan, sealed, additional)
    contentKeys.add(key, wrapping, contentKey)
    return opened
  }
  return unwrapAndOpen()
}

/** An encoded header, and the bytes that it adds to the additional data. */
interface ProtectedHeader {
  readonly text: Base64Url
  readonly bytes: Buffer
}

function createProtectedHeader(alg: string, enc: string, kid: string): ProtectedHeader {
  const text = jweHeader(alg, enc, kid)
  return { text, bytes: additionalData(text, undefined) }
}

function toOpenContent(
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

/** Encrypts synchronously if the key is in this process. */
export const sealNow: ContentSealer<MaybePromise<FlattenedJwe>> = (key, plan, content) => {
  const input = { data: content.plaintext, iv: undefined, aad: content.additional }
  return andThen(key.encrypt(plan, input), (sealed) => toFlattenedJwe(content, sealed))
}

function toFlattenedJwe(content: OpenContent, { iv, data, tag }: Encrypted): FlattenedJwe {
  const jwe = {
    protected: content.protected,
    encrypted_key: content.encryptedKey,
    iv: encodeBase64Url(iv as Buffer),
    ciphertext: encodeBase64Url(data),
    tag: encodeBase64Url(tag as Buffer),
  }
  return content.aad === undefined ? jwe : { ...jwe, aad: content.aad }
}

/** Decrypts synchronously if the key is in this process. */
export const openNow: ContentOpener<MaybePromise<Buffer>> = (key, plan, sealed, additional) => {
  const { iv, ciphertext, tag } = sealed
  // An IV of any other length cannot decrypt: same error as for a wrong one.
  if (iv.length !== plan.freshIv) throw failure('decryption_failed')
  return key.decrypt(plan, { data: ciphertext, iv, aad: additional, tag })
}

function requireContentKey(material: MaterialDescriptor, enc: ContentEncryption): void {
  if (material.kind !== 'secret' || material.algorithm !== 'AES' || material.bits !== enc.bits) {
    throw failure('crypto_failure', `This enc requires an AES key of ${enc.bits} bits.`)
  }
}

function requireRsa(material: MaterialDescriptor): void {
  if (material.algorithm !== 'RSA') throw failure('crypto_failure', 'This alg requires an RSA key.')
}
