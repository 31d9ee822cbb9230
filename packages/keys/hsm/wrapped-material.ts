import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { type Encryption, TokenError } from '@warder/pkcs11'
import { createHsms, type Hsms, toHsmFailure } from './hsms.ts'

// Material of an object that a key in an HSM wraps (docs/adr/pkcs11.md): AES-256-GCM with a content key of its own, which
// the HSM encrypts. So the token processes 32 bytes, whatever the size of the material.

/** A key in an HSM that wraps material. */
export interface WrappingKey {
  /** Its object, one version of a key. */
  readonly id: string
  readonly hsm: string
  /** CKA_LABEL. */
  readonly label: string
  /** CKA_ID, hexadecimal; empty if the key has none. */
  readonly keyId: string
}

interface Header extends WrappingKey {
  readonly algorithm: Encryption
  /** IV of the token's AES-GCM, base64url. */
  readonly iv: string
  /** The content key that the token encrypted, base64url. */
  readonly contentKey: string
}

const contentKeyBytes = 32
const ivBytes = 12
const tagBytes = 16
const lengthBytes = 2

/** The identity of the row: material of one object is not that of another. */
function toAdditionalData(object: string): Buffer {
  return Buffer.from(`warder managed_object material ${object}`)
}

/**
 * Encrypts material with a key in an HSM: one operation of its token.
 * @param options.algorithms those that the key may be used with; the first one that the token has is used
 * @returns the length of a header (2 bytes), the header as JSON, IV (12 bytes), ciphertext, tag (16 bytes)
 * @throws Failure 422, 503 if the HSM cannot be used
 */
export async function wrapMaterial(
  hsms: Hsms,
  key: WrappingKey,
  options: { readonly object: string; readonly algorithms: readonly Encryption[] },
  material: Uint8Array,
): Promise<Buffer> {
  const additionalData = toAdditionalData(options.object)
  const contentKey = randomBytes(contentKeyBytes)
  try {
    const { token } = hsms.require(key.hsm)
    await token.connect()
    const algorithm = token.encryptions.find((one) => options.algorithms.includes(one))
    if (algorithm === undefined)
      throw failure(
        'crypto_failure',
        `The HSM ${key.hsm} cannot wrap with ${key.id}: the token has no AES-GCM or AES key wrap that the key permits.`,
      )
    const made = await token.encrypt(toKeyName(key), contentKey, { additionalData, algorithm })
    const header: Header = {
      ...{ id: key.id, hsm: key.hsm, label: key.label, keyId: key.keyId, algorithm },
      iv: Buffer.from(made.iv).toString('base64url'),
      contentKey: Buffer.from(made.ciphertext).toString('base64url'),
    }
    const head = Buffer.from(JSON.stringify(header))
    const length = Buffer.alloc(lengthBytes)
    length.writeUInt16BE(head.length)
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', contentKey, iv).setAAD(additionalData)
    return Buffer.concat([length, head, iv, cipher.update(material), cipher.final(), cipher.getAuthTag()])
  } catch (error) {
    throw toHsmFailure(key.hsm, error)
  } finally {
    contentKey.fill(0)
  }
}

/**
 * Decrypts what `wrapMaterial` returned: one operation of the token.
 * @param hsms the HSMs of the settings; undefined: there are none
 * @param row the object, and the wrapping key that its row names
 * @throws Failure 422 if the key in the HSM is another one, 503 if the HSM cannot be used
 */
export async function unwrapMaterial(
  hsms: Hsms | undefined,
  row: { readonly object: string; readonly wrappingKey: string },
  wrapped: Uint8Array,
): Promise<Buffer> {
  const { header, rest } = readHeader(wrapped)
  if (header.id !== row.wrappingKey)
    throw failure('internal_error', 'the wrapped material does not fit the wrapping key of its row')
  const { token } = (hsms ?? createHsms([])).require(header.hsm)
  const additionalData = toAdditionalData(row.object)
  let contentKey: Buffer | undefined
  try {
    const encrypted = {
      algorithm: header.algorithm,
      iv: Buffer.from(header.iv, 'base64url'),
      ciphertext: Buffer.from(header.contentKey, 'base64url'),
    }
    contentKey = await token.decrypt(toKeyName(header), encrypted, additionalData)
    return decryptLocally(contentKey, additionalData, rest)
  } catch (error) {
    const isWrong = error instanceof WrongContentKey
    if (isWrong || (error instanceof TokenError && error.code === 'invalid_data'))
      throw failure(
        'crypto_failure',
        `The HSM ${header.hsm} cannot unwrap this object: its key ${header.id} is not the one that wrapped it.`,
        { cause: error },
      )
    throw toHsmFailure(header.hsm, error)
  } finally {
    contentKey?.fill(0)
  }
}

class WrongContentKey extends Error {}

function decryptLocally(contentKey: Buffer, additionalData: Buffer, sealed: Uint8Array): Buffer {
  if (contentKey.length !== contentKeyBytes || sealed.length < ivBytes + tagBytes) throw new WrongContentKey()
  const end = sealed.length - tagBytes
  const iv = sealed.subarray(0, ivBytes)
  const decipher = createDecipheriv('aes-256-gcm', contentKey, iv, { authTagLength: tagBytes })
    .setAAD(additionalData)
    .setAuthTag(sealed.subarray(end))
  const clear = decipher.update(sealed.subarray(ivBytes, end))
  try {
    return Buffer.concat([clear, decipher.final()])
  } catch (cause) {
    throw new WrongContentKey('', { cause })
  } finally {
    clear.fill(0)
  }
}

/** The value is authenticated by the seal of the row. @throws failure('internal_error') */
function readHeader(wrapped: Uint8Array): { readonly header: Header; readonly rest: Uint8Array } {
  try {
    const all = Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.byteLength)
    const end = lengthBytes + all.readUInt16BE(0)
    const header = JSON.parse(all.toString('utf8', lengthBytes, end)) as Header
    return { header, rest: all.subarray(end) }
  } catch (cause) {
    throw failure('internal_error', 'the wrapped material has no header', { cause })
  }
}

function toKeyName({ label, keyId }: WrappingKey) {
  return { label, ...(keyId !== '' && { id: keyId }) }
}
