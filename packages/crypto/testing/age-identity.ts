import {
  createDecipheriv,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { bech32Alphabet, computeBech32Checksum } from '../age/recipient.ts'

/** A holder with an age key, where the program `age` is not installed. */
export interface AgeIdentity {
  readonly recipient: string
  /** @throws for a file of another recipient, or a changed one */
  decrypt(armored: string): Buffer
}

export function createAgeIdentity(): AgeIdentity {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const key = rawKey(publicKey)
  return { recipient: formatRecipient(key), decrypt: (armored) => decrypt(armored, privateKey, key) }
}

function rawKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

/** Bech32 (BIP 173). */
export function formatRecipient(key: Uint8Array): string {
  const bits = [...key].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const values = (bits.match(/.{1,5}/g) ?? []).map((five) => Number.parseInt(five.padEnd(5, '0'), 2))
  const remainder = computeBech32Checksum([...values, 0, 0, 0, 0, 0, 0]) ^ 1
  const tail = [25, 20, 15, 10, 5, 0].map((shift) => (remainder >>> shift) & 31)
  return `age1${[...values, ...tail].map((value) => bech32Alphabet[value]).join('')}`
}

function decrypt(armored: string, privateKey: KeyObject, publicKey: Buffer): Buffer {
  const bytes = Buffer.from(armored.replace(/-----[A-Z ]+-----/g, ''), 'base64')
  const end = bytes.indexOf('\n--- ')
  const [, stanza = '', body = ''] = bytes.subarray(0, end).toString('latin1').split('\n')
  const share = Buffer.from(stanza.replace('-> X25519 ', ''), 'base64')
  const other = createPublicKey({
    key: { kty: 'OKP', crv: 'X25519', x: share.toString('base64url') },
    format: 'jwk',
  })
  const secret = diffieHellman({ privateKey, publicKey: other })
  const key = derive(secret, Buffer.concat([share, publicKey]), 'age-encryption.org/v1/X25519')
  const fileKey = open(key, Buffer.alloc(12), Buffer.from(body, 'base64'))
  const mac = createHmac('sha256', derive(fileKey, Buffer.alloc(0), 'header'))
    .update(bytes.subarray(0, end + 4))
    .digest('base64')
  const payloadAt = bytes.indexOf('\n', end + 1) + 1
  if (`${bytes.subarray(end + 5, payloadAt - 1).toString()}=` !== mac)
    throw new Error('the header was changed')
  const nonce = bytes.subarray(payloadAt, payloadAt + 16)
  const chunk = Buffer.concat([Buffer.alloc(11), Buffer.of(1)])
  return open(derive(fileKey, nonce, 'payload'), chunk, bytes.subarray(payloadAt + 16))
}

function derive(key: Uint8Array, salt: Uint8Array, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, info, 32))
}

function open(key: Uint8Array, nonce: Uint8Array, box: Uint8Array): Buffer {
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 })
  decipher.setAuthTag(box.subarray(-16))
  return Buffer.concat([decipher.update(box.subarray(0, -16)), decipher.final()])
}
