import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { canonicalJson } from './canonical.ts'
import type { ChainHead } from './record.ts'

/**
 * What the service signs of a file of its log that it has closed: what stands in the file, and between which hashes of
 * the chain. With it the file can be checked by itself, moved away, and removed without the chain losing its hold.
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
  /** Of the whole file, hexadecimal. */
  readonly sha256: string
  /** RFC 3339. */
  readonly closed_at: string
  /** Which key signed: see `checkpointKeyId`. */
  readonly key: string
}

/** A checkpoint as it stands in its file. */
export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint
  /** Ed25519 (RFC 8032), base64url. */
  readonly signature: string
  /** RFC 3161 time-stamp token over the SHA-256 of the signature, base64 of its DER. */
  readonly timestamp?: string
  /** Not signed: the file was taken away, and by whom. */
  readonly removal?: Removal
}

export interface Removal {
  /** RFC 3339. */
  readonly at: string
  /** Who did it, or `unknown`: the file was gone, and nobody had said so. */
  readonly by: string
  /** Folder that it was moved to, as it was named then. */
  readonly to?: string
  /** The chain has a record of it. */
  readonly recorded?: true
}

/** Signs with the key of one log. */
export interface CheckpointSigner {
  /** See `checkpointKeyId`. */
  readonly keyId: string
  readonly publicKey: KeyObject
  sign(checkpoint: Checkpoint): SignedCheckpoint
}

/** Keeps what is signed here apart from whatever else is ever signed with the key. */
const domain = 'warder audit checkpoint 1\n'

export function checkpointSigner(privateKey: KeyObject): CheckpointSigner {
  const publicKey = createPublicKey(privateKey)
  return {
    keyId: checkpointKeyId(publicKey),
    publicKey,
    sign: (checkpoint) => ({
      checkpoint,
      signature: sign(null, signedBytes(checkpoint), privateKey).toString('base64url'),
    }),
  }
}

/** SHA-256 of the SubjectPublicKeyInfo (RFC 5280 §4.1), base64url. */
export function checkpointKeyId(publicKey: KeyObject): string {
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(spki).digest('base64url')
}

/** Did one of these keys sign it? */
export function isSignedBy(keys: readonly KeyObject[], { checkpoint, signature }: SignedCheckpoint): boolean {
  const key = keys.find((known) => checkpointKeyId(known) === checkpoint.key)
  return key !== undefined && verify(null, signedBytes(checkpoint), key, Buffer.from(signature, 'base64url'))
}

/** Where the chain stands behind the file. */
export function headOf({ last_seq, last_hash }: Checkpoint): ChainHead {
  return { seq: last_seq, hash: last_hash }
}

/** Does the file begin where the chain stands? */
export function follows({ first_seq, first_prev }: Checkpoint, head: ChainHead): boolean {
  return first_seq === head.seq + 1 && first_prev === head.hash
}

function signedBytes(checkpoint: Checkpoint): Buffer {
  return Buffer.from(domain + canonicalJson(checkpoint))
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
  return counts.every((name) => Number.isSafeInteger(members[name])) ? (value as SignedCheckpoint) : undefined
}
