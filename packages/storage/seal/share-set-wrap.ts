import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { Secret, StartupError } from '@warder/base'
import { noId, openWith, sealWith } from './envelope.ts'
import type { ShareSet } from './share-set.ts'

// The key pair of a set: an X25519 key, for which root keys are encrypted.

const keyBytes = 32

/** Encrypts a root key with the public key of a set: X25519 with a new key, HKDF-SHA256, AES-256-GCM. */
export function wrapForSet({ publicKey }: ShareSet, key: Uint8Array, context: Uint8Array): Buffer {
  const own = generateKeyPairSync('x25519')
  const share = exportPublicKey(own.publicKey)
  const wrapping = agree(
    own.privateKey,
    importPublicKey(publicKey),
    share,
    Buffer.from(publicKey, 'base64url'),
  )
  return Buffer.concat([share, sealWith(wrapping, noId, context, key)])
}

/**
 * @param secret of the set
 * @throws StartupError when the secret, the context or the bytes are not those of `wrapForSet`
 */
export function unwrapWithSet(
  { publicKey }: ShareSet,
  secret: Secret,
  wrapped: Uint8Array,
  context: Uint8Array,
): Secret {
  try {
    const bytes = Buffer.from(wrapped)
    const share = bytes.subarray(0, keyBytes)
    const wrapping = agree(
      secret.use(importPrivateKey),
      importPublicKey(share.toString('base64url')),
      share,
      Buffer.from(publicKey, 'base64url'),
    )
    return new Secret(openWith(wrapping, context, bytes.subarray(keyBytes)))
  } catch (error) {
    throw new StartupError(
      'the shares fit their verification values, but do not decrypt the root key: the row of the set was changed in the database',
      { cause: error },
    )
  }
}

function agree(
  privateKey: KeyObject,
  publicKey: KeyObject,
  share: Uint8Array,
  recipient: Uint8Array,
): KeyObject {
  const secret = diffieHellman({ privateKey, publicKey })
  const bytes = Buffer.from(
    hkdfSync('sha256', secret, Buffer.concat([share, recipient]), 'warder share set v1', keyBytes),
  )
  const key = createSecretKey(bytes)
  secret.fill(0)
  bytes.fill(0)
  return key
}

function exportPublicKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

function importPublicKey(x: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
}

/** PKCS #8 of an X25519 key (RFC 8410 §7), without its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex')

function importPrivateKey(bytes: Uint8Array): KeyObject {
  const der = Buffer.concat([pkcs8Prefix, bytes])
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  } finally {
    der.fill(0)
  }
}
