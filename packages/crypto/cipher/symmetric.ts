import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  type DecipherGCM,
  type KeyObject,
} from 'node:crypto'
import { CryptoFailure, decryptionFailed, notSupported, refuse } from '../algorithms/failure.ts'
import type { CipherPlan } from './cipher-plan.ts'
import { decryptionIv, encryptionIv } from './iv.ts'
import { paddingFor, removePadding } from './padding.ts'

/** Bytes that all parts of one operation may have together: they are kept until its end. */
export const maximumStreamBytes = 16 * 2 ** 20

/** Data that is encrypted in one go. */
export interface PlainInput {
  readonly data: Uint8Array
  readonly iv: Uint8Array | undefined
  readonly aad: Uint8Array | undefined
}

export interface Encrypted {
  readonly data: Buffer
  /** Set when it was made here. */
  readonly iv: Buffer | undefined
  readonly tag: Buffer | undefined
}

export interface CipherInput extends PlainInput {
  readonly tag: Uint8Array | undefined
}

/** An encryption or decryption that is fed part by part. */
export interface CipherStream {
  /** Returns the output that can be released already. */
  update(data: Uint8Array): Buffer
  final(data: Uint8Array, tag?: Uint8Array): { readonly data: Buffer; readonly tag?: Buffer | undefined }
}

const nothing = Buffer.alloc(0)

/**
 * Encrypts.
 * @throws invalid_input for lengths, missing_iv, CryptoFailure unsupported for additional data
 *   without a mode that authenticates it
 */
export function encryptSymmetric(key: KeyObject, plan: CipherPlan, input: PlainInput): Encrypted {
  requireAad(plan, input.aad)
  requireWhole(plan, input.data.length)
  const { bytes, fresh } = encryptionIv(plan, input.iv, input.data.length)
  if (plan.kind === 'aead') {
    // The hot path: as few calls as there can be.
    const cipher = createCipheriv(plan.cipher as 'aes-256-gcm', key, bytes as Uint8Array, {
      authTagLength: plan.tag,
    })
    if (input.aad !== undefined) cipher.setAAD(input.aad)
    const data = cipher.update(input.data)
    cipher.final()
    return { data, iv: fresh, tag: cipher.getAuthTag() }
  }
  const { data, tag } = encryptor(key, plan, bytes, input.aad, input.data.length).final(input.data)
  return { data, iv: fresh, tag }
}

/**
 * Decrypts. Modes with a tag return no plaintext before the tag is verified.
 * @throws decryption_failed for any mismatch, missing_iv
 */
export function decryptSymmetric(key: KeyObject, plan: CipherPlan, input: CipherInput): Buffer {
  requireAad(plan, input.aad)
  const iv = decryptionIv(plan, input.iv, input.data.length)
  const tag = requireTag(plan, input.tag)
  if (plan.mode === 'KW' || plan.mode === 'KWP' || plan.mode === 'XTS')
    requireWhole(plan, input.data.length, true)
  if (plan.kind === 'aead') {
    // The hot path, as above.
    const decipher = createDecipheriv(plan.cipher as 'aes-256-gcm', key, iv as Uint8Array, {
      authTagLength: plan.tag,
    })
    if (input.aad !== undefined) decipher.setAAD(input.aad)
    decipher.setAuthTag(tag as Uint8Array)
    const data = decipher.update(input.data)
    try {
      decipher.final()
    } catch {
      data.fill(0)
      throw decryptionFailed()
    }
    return data
  }
  return decryptor(key, plan, iv, input.aad, input.data.length, tag).final(input.data).data
}

/**
 * Checks the input of an encryption that is done elsewhere, and chooses its IV.
 * @returns the IV for the mechanism, the IV for the client, and the padded data
 * @throws as `encryptSymmetric`
 */
export function prepareEncryption(
  plan: CipherPlan,
  { data, iv, aad }: PlainInput,
): { readonly iv: Uint8Array; readonly fresh: Buffer | undefined; readonly data: Uint8Array } {
  requireAad(plan, aad)
  requireWhole(plan, data.length)
  const { bytes, fresh } = encryptionIv(plan, iv, data.length)
  const padding =
    plan.kind === 'block'
      ? paddingFor(plan.padding, data.length % plan.block, plan.block, data.at(-1))
      : nothing
  return { iv: bytes ?? nothing, fresh, data: padding.length === 0 ? data : Buffer.concat([data, padding]) }
}

/** Checks the input of a decryption that is done elsewhere. @throws as `decryptSymmetric` */
export function prepareDecryption(
  plan: CipherPlan,
  { data, iv, aad, tag }: CipherInput,
): { readonly iv: Uint8Array; readonly tag: Uint8Array } {
  requireAad(plan, aad)
  const bytes = decryptionIv(plan, iv, data.length)
  const checked = requireTag(plan, tag)
  if (plan.mode === 'KW' || plan.mode === 'KWP' || plan.mode === 'XTS') requireWhole(plan, data.length, true)
  if (plan.kind === 'block' && data.length % plan.block !== 0) throw decryptionFailed()
  return { iv: bytes ?? nothing, tag: checked ?? nothing }
}

/** Removes the padding of a block cipher from data that were decrypted elsewhere. @throws decryption_failed */
export function finishDecryption({ kind, padding, block }: CipherPlan, data: Buffer): Buffer {
  if (kind !== 'block') return data
  const at = Math.max(0, data.length - block)
  const last = removePadding(padding, data.subarray(at), block)
  return data.subarray(0, at + last.length)
}

/** Starts an encryption in parts. @throws as `encryptSymmetric` */
export function openEncryption(
  key: KeyObject,
  plan: CipherPlan,
  { iv, aad }: Omit<PlainInput, 'data'>,
): CipherStream & { readonly iv: Buffer | undefined } {
  requireParts(plan)
  requireAad(plan, aad)
  const { bytes, fresh } = encryptionIv(plan, iv, maximumStreamBytes)
  return { ...encryptor(key, plan, bytes, aad, 0), iv: fresh }
}

/** Starts a decryption in parts. The tag comes with the last part. @throws as `decryptSymmetric` */
export function openDecryption(
  key: KeyObject,
  plan: CipherPlan,
  { iv, aad }: Omit<PlainInput, 'data'>,
): CipherStream {
  requireParts(plan)
  requireAad(plan, aad)
  return decryptor(key, plan, decryptionIv(plan, iv, maximumStreamBytes), aad, 0, undefined)
}

function encryptor(
  key: KeyObject,
  plan: CipherPlan,
  iv: Uint8Array | null,
  aad: Uint8Array | undefined,
  length: number,
): CipherStream {
  const cipher = makeCipher(key, plan, iv)
  if (plan.tag > 0) setAad(cipher as CipherGCM, plan, aad, length)
  let total = 0
  let lastByte: number | undefined
  const count = (data: Uint8Array) => {
    total += data.length
    if (data.length > 0) lastByte = data[data.length - 1]
  }
  return {
    update(data) {
      count(data)
      return cipher.update(data)
    },
    final(data) {
      count(data)
      const parts = [cipher.update(data)]
      if (plan.kind === 'block') {
        cipher.setAutoPadding(false)
        parts.push(cipher.update(paddingFor(plan.padding, total % plan.block, plan.block, lastByte)))
      }
      parts.push(cipher.final())
      return { data: concatParts(parts), tag: plan.tag > 0 ? (cipher as CipherGCM).getAuthTag() : undefined }
    },
  }
}

function makeCipher(key: KeyObject, plan: CipherPlan, iv: Uint8Array | null) {
  try {
    return createCipheriv(plan.cipher as 'aes-256-gcm', key, iv as Uint8Array, tagOptions(plan))
  } catch {
    // XTS with two equal halves, keys that OpenSSL will not have.
    throw refuse('wrong_key', 'The key cannot be used for this cipher.')
  }
}

function tagOptions(plan: CipherPlan): { readonly authTagLength: number } {
  return plan.tag > 0 ? { authTagLength: plan.tag } : (undefined as never)
}

function decryptor(
  key: KeyObject,
  plan: CipherPlan,
  iv: Uint8Array | null,
  aad: Uint8Array | undefined,
  length: number,
  knownTag: Uint8Array | undefined,
): CipherStream {
  const decipher = makeDecipher(key, plan, iv)
  if (plan.kind === 'block') decipher.setAutoPadding(false)
  // CCM and GCM-SIV need the tag before the data.
  if (knownTag !== undefined) (decipher as DecipherGCM).setAuthTag(knownTag)
  if (plan.tag > 0) setAad(decipher as DecipherGCM, plan, aad, length)
  let total = 0
  let held: Buffer = nothing
  return {
    update(data) {
      total += data.length
      const out = decipher.update(data)
      if (plan.kind === 'stream') return out
      held = held.length === 0 ? out : Buffer.concat([held, out])
      if (plan.kind === 'aead') return nothing
      // The last whole block stays here: it may be padding.
      const away = Math.max(0, held.length - plan.block)
      const given = held.subarray(0, away)
      held = held.subarray(away)
      return given
    },
    final(data, tag = knownTag) {
      total += data.length
      try {
        if (plan.tag > 0 && knownTag === undefined)
          (decipher as DecipherGCM).setAuthTag(requireTag(plan, tag) as Uint8Array)
        if (plan.kind === 'block' && total % plan.block !== 0) throw decryptionFailed()
        const rest = decipher.update(data)
        held = held.length === 0 ? rest : Buffer.concat([held, rest])
        const end = decipher.final()
        const out = end.length === 0 ? held : Buffer.concat([held, end])
        if (plan.kind !== 'block') return { data: out }
        const at = Math.max(0, out.length - plan.block)
        const last = removePadding(plan.padding, out.subarray(at), plan.block)
        return { data: out.subarray(0, at + last.length) }
      } catch (error) {
        held.fill(0)
        throw error instanceof CryptoFailure ? error : decryptionFailed()
      }
    },
  }
}

function makeDecipher(key: KeyObject, plan: CipherPlan, iv: Uint8Array | null) {
  try {
    return createDecipheriv(plan.cipher as 'aes-256-gcm', key, iv as Uint8Array, tagOptions(plan))
  } catch {
    throw refuse('wrong_key', 'The key cannot be used for this cipher.')
  }
}

function setAad(
  cipher: CipherGCM | DecipherGCM,
  plan: CipherPlan,
  aad: Uint8Array | undefined,
  length: number,
): void {
  // CCM needs the length of the data in advance (SP 800-38C §A.2.1).
  if (plan.mode === 'CCM') cipher.setAAD(aad ?? nothing, { plaintextLength: length })
  else if (aad !== undefined) cipher.setAAD(aad)
}

function concatParts(parts: readonly Buffer[]): Buffer {
  const filled = parts.filter((part) => part.length > 0)
  return filled.length === 1 ? (filled[0] as Buffer) : Buffer.concat(filled)
}

function requireAad(plan: CipherPlan, aad: Uint8Array | undefined): void {
  if (aad !== undefined && aad.length > 0 && plan.tag === 0)
    throw notSupported('AuthenticatedEncryptionAdditionalData has no meaning for this mode.')
}

function requireTag(plan: CipherPlan, tag: Uint8Array | undefined): Uint8Array | undefined {
  if (plan.tag === 0) {
    if (tag !== undefined && tag.length > 0)
      throw notSupported('AuthenticatedEncryptionTag has no meaning for this mode.')
    return undefined
  }
  if (tag === undefined) throw refuse('invalid_input', 'AuthenticatedEncryptionTag is missing.')
  if (tag.length !== plan.tag) throw decryptionFailed()
  return tag
}

function requireParts(plan: CipherPlan): void {
  if (plan.kind === 'whole') throw notSupported('This mode does not support operations in parts.')
}

/** Lengths that OpenSSL would refuse with an error of its own. */
function requireWhole(plan: CipherPlan, length: number, wrapped = false): void {
  switch (plan.mode) {
    case 'XTS':
      // IEEE 1619 §5.1: at least a block, at most 2^20 blocks.
      if (length < 16 || length > 16 * 2 ** 20)
        throw refuse('invalid_input', 'AES-XTS requires 16 bytes to 16 MiB of data.')
      return
    case 'KW':
      if (length % 8 !== 0 || length < (wrapped ? 24 : 16))
        throw refuse('invalid_input', 'NISTKeyWrap requires a multiple of 8 bytes, at least 16.')
      return
    case 'KWP':
      if (wrapped ? length % 8 !== 0 || length < 16 : length === 0)
        throw refuse('invalid_input', 'AESKeyWrapPadding requires at least one byte.')
      return
    default:
  }
}
