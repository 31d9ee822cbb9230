import { constants, type KeyObject, publicEncrypt, randomBytes, subtle } from 'node:crypto'
import { failure } from '@warder/foundation/errors'

export type OaepHash = 'SHA-1' | 'SHA-256'
type CryptoKey = ReturnType<KeyObject['toCryptoKey']>

const imported: Readonly<Record<OaepHash, WeakMap<KeyObject, CryptoKey>>> = {
  'SHA-1': new WeakMap(),
  'SHA-256': new WeakMap(),
}

/** RSA-OAEP (RFC 8017 §7.1), MGF1 with the same hash, empty label. */
export function oaepWrap(hash: OaepHash, key: KeyObject, cek: Uint8Array): Buffer {
  const oaepHash = hash === 'SHA-1' ? 'sha1' : 'sha256'
  return publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, cek)
}

/**
 * The wrapped bytes, opened off the event loop.
 * @throws Failure decryption_failed. Only for callers that may tell; decryption of a token uses `oaepUnwrapCek`.
 */
export async function oaepUnwrap(hash: OaepHash, key: KeyObject, wrapped: Uint8Array): Promise<Buffer> {
  try {
    return Buffer.from(await subtle.decrypt('RSA-OAEP', importedKey(hash, key), Uint8Array.from(wrapped)))
  } catch {
    throw failure('decryption_failed')
  }
}

/**
 * A CEK of `size` bytes: the wrapped one, or after any failure a random one (implicit rejection), so that a wrong
 * `encrypted_key` fails later, at the tag, as a wrong tag does. The random one is drawn every time.
 */
export async function oaepUnwrapCek(
  hash: OaepHash,
  key: KeyObject,
  wrapped: Uint8Array,
  size: number,
): Promise<Buffer> {
  const substitute = randomBytes(size)
  const opened = await oaepUnwrap(hash, key, wrapped).catch(() => substitute)
  return opened.length === size ? opened : substitute
}

function importedKey(hash: OaepHash, key: KeyObject): CryptoKey {
  const known = imported[hash].get(key)
  if (known !== undefined) return known
  const made = key.toCryptoKey({ name: 'RSA-OAEP', hash }, false, ['decrypt'])
  imported[hash].set(key, made)
  return made
}
