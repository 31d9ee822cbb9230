import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  scryptSync,
} from 'node:crypto'
import { BackupRefused } from './lines.ts'

/** Recipients of a backup; each can open it alone. */
export interface Recipients {
  readonly passphrase?: string | undefined
  /** X25519 (RFC 7748). */
  readonly publicKeys: readonly KeyObject[]
}

/** Key, passphrase or file that opens a backup. */
export interface Unlock {
  readonly passphrase?: string | undefined
  readonly privateKey?: KeyObject | undefined
}

/** The key of a backup for one recipient. Binary members are base64url. */
export type WrappedKey =
  | {
      readonly type: 'scrypt'
      readonly salt: string
      readonly n: number
      readonly r: number
      readonly p: number
      readonly wrapped: string
    }
  | {
      readonly type: 'x25519'
      readonly recipient: string
      readonly ephemeral: string
      readonly wrapped: string
    }

/** RFC 7914; 128 MiB of memory and some tenths of a second. */
const cost = { n: 2 ** 17, r: 8, p: 1 } as const
/** Bounds the memory that a foreign header can request. */
const maxMemoryBytes = 1024 ** 3
const tagBytes = 16

/**
 * Adds an ephemeral key pair to the recipients, so that this process can read the backup back. Its private half never
 * leaves the process.
 */
export function addEphemeralRecipient(recipients: Recipients): {
  readonly recipients: Recipients
  readonly unlock: Unlock
} {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return {
    recipients: { ...recipients, publicKeys: [...recipients.publicKeys, publicKey] },
    unlock: { privateKey },
  }
}

export function wrapForRecipients(
  { passphrase, publicKeys }: Recipients,
  fileKey: Uint8Array,
): readonly WrappedKey[] {
  const keys: WrappedKey[] = publicKeys.map((key) => wrapForKey(key, fileKey))
  if (passphrase !== undefined) {
    const salt = randomBytes(16)
    const wrapped = encryptKey(derivePassphraseKey(passphrase, salt, cost), fileKey)
    keys.push({ type: 'scrypt', salt: toBase64url(salt), ...cost, wrapped })
  }
  if (keys.length === 0) throw new BackupRefused('a backup needs a passphrase or a public key')
  return keys
}

/** @throws BackupRefused that names the secret which opens the backup */
export function unwrap(keys: readonly WrappedKey[], { passphrase, privateKey }: Unlock): Buffer {
  const mine = privateKey === undefined ? undefined : exportPublicKey(createPublicKey(privateKey))
  for (const key of keys) {
    if (key.type === 'scrypt' && passphrase !== undefined) {
      const found = decryptKey(derivePassphraseKey(passphrase, fromBase64url(key.salt), key), key.wrapped)
      if (found === undefined) throw new BackupRefused('wrong passphrase for this backup')
      return found
    }
    if (
      key.type === 'x25519' &&
      privateKey !== undefined &&
      mine !== undefined &&
      key.recipient === toBase64url(mine)
    ) {
      const found = decryptKey(
        deriveSharedKey(
          privateKey,
          importPublicKey(fromBase64url(key.ephemeral)),
          fromBase64url(key.ephemeral),
          mine,
        ),
        key.wrapped,
      )
      if (found !== undefined) return found
    }
  }
  const kinds = new Set(
    keys.map(({ type }) => (type === 'scrypt' ? 'its passphrase' : 'a private key (X25519)')),
  )
  throw new BackupRefused(`this backup needs ${[...kinds].join(' or ')}: give --passphrase-file or --key`)
}

function wrapForKey(recipient: KeyObject, fileKey: Uint8Array): WrappedKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const [ephemeral, mine] = [exportPublicKey(publicKey), exportPublicKey(recipient)]
  const wrapped = encryptKey(deriveSharedKey(privateKey, recipient, ephemeral, mine), fileKey)
  return { type: 'x25519', recipient: toBase64url(mine), ephemeral: toBase64url(ephemeral), wrapped }
}

function deriveSharedKey(
  privateKey: KeyObject,
  publicKey: KeyObject,
  ephemeral: Buffer,
  recipient: Buffer,
): Buffer {
  const secret = diffieHellman({ privateKey, publicKey })
  const key = Buffer.from(
    hkdfSync('sha256', secret, Buffer.concat([ephemeral, recipient]), 'warder backup v1 x25519', 32),
  )
  secret.fill(0)
  return key
}

function derivePassphraseKey(
  passphrase: string,
  salt: Buffer,
  { n, r, p }: { readonly n: number; readonly r: number; readonly p: number },
): Buffer {
  try {
    return scryptSync(passphrase.normalize('NFC'), salt, 32, { N: n, r, p, maxmem: maxMemoryBytes })
  } catch {
    throw new BackupRefused(
      'the header of the backup requests more memory for its passphrase (scrypt) than permitted',
    )
  }
}

/** The nonce may be zero, because the wrapping key is used only once. */
function encryptKey(key: Buffer, fileKey: Uint8Array): string {
  const cipher = createCipheriv('aes-256-gcm', key, Buffer.alloc(12), { authTagLength: tagBytes })
  const sealed = Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()])
  key.fill(0)
  return toBase64url(sealed)
}

function decryptKey(key: Buffer, wrapped: string): Buffer | undefined {
  const sealed = fromBase64url(wrapped)
  const end = sealed.length - tagBytes
  if (end !== 32) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.alloc(12), { authTagLength: tagBytes })
  decipher.setAuthTag(sealed.subarray(end))
  key.fill(0)
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()])
  } catch {
    return undefined
  }
}

/** The 32 bytes of RFC 7748. */
function exportPublicKey(key: KeyObject): Buffer {
  const { x = '' } = key.export({ format: 'jwk' })
  return fromBase64url(x)
}

function importPublicKey(raw: Buffer): KeyObject {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: toBase64url(raw) }, format: 'jwk' })
  } catch {
    throw new BackupRefused('the header of the backup is invalid')
  }
}

function toBase64url(value: Uint8Array): string {
  return Buffer.from(value).toString('base64url')
}

function fromBase64url(value: string): Buffer {
  return Buffer.from(value, 'base64url')
}
