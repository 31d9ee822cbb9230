import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { canonicalJson } from './details.ts'
import type { ChainHead } from './record.ts'

/**
 * Statement that the service signs about a closed file of its log: the contents of the file, and between which hashes
 * of the chain. With it the file can be checked by itself, moved away, and removed without breaking the chain.
 */
export interface Checkpoint {
  readonly version: 1
  readonly service: string
  readonly node: string
  /** Name of the file while it was written. */
  readonly file: string
  readonly first_seq: number
  readonly last_seq: number
  /** `prev` of the first record: the hash that the file before ends with. */
  readonly first_prev: string
  readonly last_hash: string
  /** RFC 3339; of the earliest and the latest record. */
  readonly earliest: string
  readonly latest: string
  readonly bytes: number
  /** Of the whole file, hexadecimal; of an encrypted one, of its plaintext, as `bytes`. */
  readonly sha256: string
  /** Of an encrypted file as it is on disk: with them it is verified without its key. */
  readonly stored_bytes?: number
  readonly stored_sha256?: string
  /** RFC 3339. */
  readonly closed_at: string
  /** Which key signed: see `computeCheckpointKeyId`. */
  readonly key: string
}

/** The content of a checkpoint's file. */
export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint
  /** Ed25519 (RFC 8032), base64url. */
  readonly signature: string
  /** RFC 3161 time-stamp token over the SHA-256 of the signature, base64 of its DER. */
  readonly timestamp?: string
  /** Of an encrypted file that was archived: how it is stored since. */
  readonly archived?: ArchivedFile
  /** The file was taken away, and by whom. */
  readonly removal?: Removal
}

/** Compressing changes the bytes of an encrypted file: who archives it has its key, and the log's, and signs. */
export interface ArchivedFile {
  readonly bytes: number
  readonly sha256: string
  /** Ed25519 by the key of the checkpoint, base64url. */
  readonly signature: string
}

export interface Removal {
  /** RFC 3339. */
  readonly at: string
  /** The person who removed it, or `unknown`: the file was missing without a recorded removal. */
  readonly by: string
  /** Folder that it was moved to, as it was named then. */
  readonly to?: string
  /** The chain has a record of it. */
  readonly recorded?: true
  /**
   * Ed25519 signature over the whole checkpoint by its key, base64url. Earlier versions did not sign
   * removals: an unsigned removal is accepted only if the chain has a record of it.
   */
  readonly signature?: string
}

/** Signs with the key of one log. */
export interface CheckpointSigner {
  /** See `computeCheckpointKeyId`. */
  readonly keyId: string
  readonly publicKey: KeyObject
  sign(checkpoint: Checkpoint): SignedCheckpoint
  /** Signs how the file is stored after it was archived. */
  signArchived(
    checkpoint: Checkpoint,
    stored: { readonly bytes: number; readonly sha256: string },
  ): ArchivedFile
  /** Signs that the file of a checkpoint was taken away; a signature that is there is replaced. */
  signRemoval(checkpoint: Checkpoint, removal: Removal): Removal
}

/** Separates these signatures from other uses of the key. */
const domain = 'warder audit checkpoint 1\n'
const archiveDomain = 'warder audit archived 1\n'
const removalDomain = 'warder audit removed 1\n'

export function createCheckpointSigner(privateKey: KeyObject): CheckpointSigner {
  const publicKey = createPublicKey(privateKey)
  return {
    keyId: computeCheckpointKeyId(publicKey),
    publicKey,
    sign: (checkpoint) => ({
      checkpoint,
      signature: sign(null, encodeCheckpoint(checkpoint), privateKey).toString('base64url'),
    }),
    signArchived(checkpoint, { bytes, sha256 }) {
      const signature = sign(null, encodeArchived(checkpoint, { bytes, sha256 }), privateKey)
      return { bytes, sha256, signature: signature.toString('base64url') }
    },
    signRemoval(checkpoint, { signature: _, ...removal }) {
      const signature = sign(null, encodeRemoval(checkpoint, removal), privateKey)
      return { ...removal, signature: signature.toString('base64url') }
    },
  }
}

/** SHA-256 of the SubjectPublicKeyInfo (RFC 5280 §4.1), base64url. */
export function computeCheckpointKeyId(publicKey: KeyObject): string {
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(spki).digest('base64url')
}

/** Did one of these keys sign it? */
export function isSignedBy(keys: readonly KeyObject[], { checkpoint, signature }: SignedCheckpoint): boolean {
  const key = keys.find((known) => computeCheckpointKeyId(known) === checkpoint.key)
  return (
    key !== undefined && verify(null, encodeCheckpoint(checkpoint), key, Buffer.from(signature, 'base64url'))
  )
}

/** Did the key of the checkpoint, one of these, sign how its file is stored? */
export function isArchivedBy(
  keys: readonly KeyObject[],
  { checkpoint, archived }: SignedCheckpoint,
): boolean {
  const key = keys.find((known) => computeCheckpointKeyId(known) === checkpoint.key)
  if (key === undefined || archived === undefined) return false
  return verify(null, encodeArchived(checkpoint, archived), key, Buffer.from(archived.signature, 'base64url'))
}

/** Did the key of the checkpoint, one of these, sign that its file was taken away? */
export function isRemovalSignedBy(
  keys: readonly KeyObject[],
  { checkpoint, removal }: SignedCheckpoint,
): boolean {
  const key = keys.find((known) => computeCheckpointKeyId(known) === checkpoint.key)
  if (key === undefined || typeof removal?.signature !== 'string') return false
  const { signature, ...unsigned } = removal
  return verify(null, encodeRemoval(checkpoint, unsigned), key, Buffer.from(signature, 'base64url'))
}

/** State of the chain after the file. */
export function toChainHead({ last_seq, last_hash }: Checkpoint): ChainHead {
  return { seq: last_seq, hash: last_hash }
}

/** Whether the file continues the chain. */
export function follows({ first_seq, first_prev }: Checkpoint, head: ChainHead): boolean {
  return first_seq === head.seq + 1 && first_prev === head.hash
}

function encodeCheckpoint(checkpoint: Checkpoint): Buffer {
  return Buffer.from(domain + canonicalJson(checkpoint))
}

function encodeArchived(
  { first_seq, last_seq, last_hash, sha256: records }: Checkpoint,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: string },
): Buffer {
  return Buffer.from(
    archiveDomain + canonicalJson({ first_seq, last_seq, last_hash, records, bytes, sha256 }),
  )
}

function encodeRemoval(
  { first_seq, last_seq, last_hash, sha256: records }: Checkpoint,
  removal: Omit<Removal, 'signature'>,
): Buffer {
  return Buffer.from(removalDomain + canonicalJson({ first_seq, last_seq, last_hash, records, removal }))
}

const texts = [
  'service',
  'node',
  'file',
  'first_prev',
  'last_hash',
  'earliest',
  'latest',
  'sha256',
  'closed_at',
  'key',
]
const counts = ['first_seq', 'last_seq', 'bytes']

/** The content of a checkpoint's file; undefined when it is something else. The signature is not looked at. */
export function parseCheckpoint(text: string): SignedCheckpoint | undefined {
  let value: Partial<SignedCheckpoint> | null
  try {
    value = JSON.parse(text) as Partial<SignedCheckpoint> | null
  } catch {
    return undefined
  }
  const members = value?.checkpoint as Readonly<Record<string, unknown>> | undefined
  if (typeof value?.signature !== 'string' || typeof members !== 'object' || members === null)
    return undefined
  if (members.version !== 1 || !texts.every((name) => typeof members[name] === 'string')) return undefined
  const { stored_bytes: bytes = 0, stored_sha256: sha256 = '' } = members
  if (!Number.isSafeInteger(bytes) || typeof sha256 !== 'string') return undefined
  if (value.archived !== undefined && !isArchivedFile(value.archived)) return undefined
  if (value.removal !== undefined && !isRemoval(value.removal)) return undefined
  return counts.every((name) => Number.isSafeInteger(members[name])) ? (value as SignedCheckpoint) : undefined
}

function isArchivedFile(value: unknown): boolean {
  const { bytes, sha256, signature } = (value ?? {}) as Readonly<Record<string, unknown>>
  return Number.isSafeInteger(bytes) && typeof sha256 === 'string' && typeof signature === 'string'
}

function isRemoval(value: unknown): boolean {
  const { at, by } = (value ?? {}) as Readonly<Record<string, unknown>>
  return typeof at === 'string' && typeof by === 'string'
}
