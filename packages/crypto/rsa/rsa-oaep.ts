import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  createSecretKey,
  decapsulate,
  type KeyObject,
  publicEncrypt,
} from 'node:crypto'
import { failure } from '@warder/base'
import type { OaepHash } from '../algorithms/key-managements.ts'
import { modulusBits } from '../material/material.ts'
import {
  joseOaep,
  type OaepScheme,
  oaepDecode,
  oaepDecodeMessage,
  oaepEncode,
  requireShort,
} from './oaep-encoding.ts'

/** RSA-OAEP (RFC 8017 §7.1), MGF1 with the same hash, empty label. */
export function oaepWrap(hash: OaepHash, key: KeyObject, cek: Uint8Array): Buffer {
  return oaepEncrypt(joseOaep[hash], key, cek)
}

/**
 * Encrypts with any hash, hash of the mask and label. OpenSSL through Node derives the mask's hash from the hash; if
 * they differ, the encoding is made here.
 */
export function oaepEncrypt(scheme: OaepScheme, key: KeyObject, message: Uint8Array): Buffer {
  const { hash, maskHash, label } = scheme
  const bytes = Math.ceil(modulusBits(key) / 8)
  if (hash.name === maskHash.name) {
    requireShort(scheme, message, bytes)
    const padding = constants.RSA_PKCS1_OAEP_PADDING
    const options = { key, padding, oaepHash: hash.node }
    return publicEncrypt(label.length === 0 ? options : { ...options, oaepLabel: label }, message)
  }
  const encoded = oaepEncode(scheme, message, bytes)
  const made = publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, encoded)
  encoded.fill(0)
  return made
}

/** An RSA private key, wherever it is. */
export interface RsaPrivateKey {
  readonly rejection: Rejection
  /** c^d mod n of any c below the modulus, as long as the modulus. */
  open(ciphertext: Uint8Array): Promise<Buffer>
}

function toPrivateKey(key: KeyObject): RsaPrivateKey {
  return { rejection: getRejection(key), open: (ciphertext) => rsaPrivate(key, ciphertext) }
}

/** Opens off the event loop, failing in one way only. @throws CryptoFailure decryption_failed */
export async function oaepDecrypt(
  scheme: OaepScheme,
  key: KeyObject | RsaPrivateKey,
  data: Uint8Array,
): Promise<Buffer> {
  const { encoded, inRange } = await rsaOpen('open' in key ? key : toPrivateKey(key), data)
  return oaepDecodeMessage(scheme, encoded, inRange)
}

/**
 * Decrypts a CEK of `size` bytes off the event loop. If the bytes are not the OAEP encryption of a key of that size, it
 * returns another key (implicit rejection, RFC 7516 §11.5), so that a wrong `encrypted_key` fails later, at the tag, in
 * the same way as a wrong tag.
 *
 * Equal work for every input: the other key is always computed; there is always exactly one private operation; it
 * yields the whole encoded message and never an error that depends on it; and the decoding has no branch on secrets.
 * (OpenSSL's own OAEP decryption checks in constant time too, but a failure comes back as an exception, which is
 * slower, and a number that is not below the modulus is refused before any work, which is much faster.)
 *
 * The other key is a function of the private key and the bytes, so that a repeated request reveals nothing new.
 */
export function oaepUnwrapCek(
  hash: OaepHash,
  key: KeyObject | RsaPrivateKey,
  wrapped: Uint8Array,
  size: number,
): Promise<Buffer> {
  const opener = 'open' in key ? key : toPrivateKey(key)
  const { secret } = opener.rejection
  const rejection = createHmac('sha256', secret).update(`${hash}.${size}.`).update(wrapped).digest()
  return rsaOpen(opener, wrapped).then(({ encoded }) =>
    oaepDecode(hash, encoded, rejection.subarray(0, size)),
  )
}

/**
 * Computes c^d mod n for any bytes: always exactly one private operation, of another ciphertext if this one is not
 * valid for the key. The use of `encoded` must not reveal, by an error or by timing, whether its padding was right.
 * @returns the encoded message as long as the modulus, to be wiped; `inRange` false = invalid ciphertext for the key
 */
function rsaOpen(
  key: RsaPrivateKey,
  ciphertext: Uint8Array,
): Promise<{ readonly encoded: Buffer; readonly inRange: boolean }> {
  const { modulusLess1, decoy } = key.rejection
  const inRange =
    ciphertext.length === modulusLess1.length &&
    Buffer.compare(ciphertext, modulusLess1) < 0 &&
    ciphertext.subarray(0, -1).some((byte) => byte !== 0)
  return key.open(inRange ? ciphertext : decoy).then((encoded) => ({ encoded, inRange }))
}

/** Inputs of the private operation in place of an invalid ciphertext, and the secret that determines its result. */
export interface Rejection {
  /** n - 1, big-endian, as long as the modulus. */
  readonly modulusLess1: Buffer
  /** A well-formed ciphertext of this key whose message is empty: never a key of any size. */
  readonly decoy: Buffer
  readonly secret: KeyObject
}

const rejections = new WeakMap<KeyObject, Rejection>()

function getRejection(key: KeyObject): Rejection {
  const known = rejections.get(key)
  if (known !== undefined) return known
  const der = key.export({ format: 'der', type: 'pkcs8' })
  const seed = createHash('sha256')
    .update('warder: key for rejected RSA-OAEP ciphertexts\0')
    .update(der)
    .digest()
  der.fill(0)
  const made = createRejection(createPublicKey(key), seed)
  rejections.set(key, made)
  return made
}

/** @param seed 32 secret bytes that belong to the key; wiped */
export function createRejection(open: KeyObject, seed: Buffer): Rejection {
  const modulusLess1 = Buffer.from(open.export({ format: 'jwk' }).n as string, 'base64url')
  // n is odd, so the subtraction has no borrow.
  modulusLess1[modulusLess1.length - 1] = (modulusLess1.at(-1) as number) - 1
  const decoy = oaepWrap('SHA_256', open, Buffer.alloc(0))
  const made = { modulusLess1, decoy, secret: createSecretKey(seed) }
  seed.fill(0)
  return made
}

/**
 * c^d mod n as long as the modulus, on the thread pool, blinded. RSASVE (SP 800-56B §7.2.1.3), which
 * `decapsulate` does for RSA keys, is exactly this; it only refuses ciphertexts outside of 1 < c < n - 1.
 */
export function rsaPrivate(key: KeyObject, ciphertext: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    decapsulate(key, ciphertext as NodeJS.ArrayBufferView, (error: Error | null, message) => {
      if (error === null || error === undefined) resolve(message)
      // It cannot depend on the message: the range was checked, and nothing was decoded.
      else reject(failure('internal_error', 'the RSA private operation failed'))
    })
  })
}
