import {
  createCipheriv,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/** A plaintext is one chunk of the payload. */
export const maxAgePlaintextBytes = 65_536
const lineLength = 64

/**
 * Encrypts for one recipient, in the armored form of https://age-encryption.org/v1 that `age`, `rage` and other programs
 * decrypt.
 * @param recipient X25519 public key, 32 bytes
 * @param plaintext at most 64 KiB
 * @throws Error for a public key of low order
 */
export function encryptAge(recipient: Uint8Array, plaintext: Uint8Array): string {
  if (plaintext.length > maxAgePlaintextBytes) throw new Error('age: the plaintext is longer than one chunk')
  const fileKey = randomBytes(16)
  const header = `age-encryption.org/v1\n${formatStanza(recipient, fileKey)}---`
  const mac = createHmac('sha256', derive(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest()
  const nonce = randomBytes(16)
  // One chunk, which is the last: counter 0, flag 1.
  const payload = seal(
    derive(fileKey, nonce, 'payload'),
    Buffer.concat([Buffer.alloc(11), Buffer.of(1)]),
    plaintext,
  )
  fileKey.fill(0)
  const bytes = Buffer.concat([Buffer.from(`${header} ${encode(mac)}\n`), nonce, payload])
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? []
  return ['-----BEGIN AGE ENCRYPTED FILE-----', ...lines, '-----END AGE ENCRYPTED FILE-----', ''].join('\n')
}

/** `-> X25519 SHARE`, and the file key, encrypted with the key that was agreed with the recipient. */
function formatStanza(recipient: Uint8Array, fileKey: Uint8Array): string {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const share = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const secret = diffieHellman({ privateKey, publicKey: toPublicKey(recipient) })
  const key = derive(secret, Buffer.concat([share, recipient]), 'age-encryption.org/v1/X25519')
  secret.fill(0)
  return `-> X25519 ${encode(share)}\n${encode(seal(key, Buffer.alloc(12), fileKey))}\n`
}

function toPublicKey(bytes: Uint8Array): KeyObject {
  const x = Buffer.from(bytes).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
}

function derive(key: Uint8Array, salt: Uint8Array, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, info, 32))
}

function seal(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 })
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

/** Base64 without padding. */
function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('=', '')
}
