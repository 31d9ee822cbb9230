import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Seal, SealContext } from '@warder/storage'
import {
  type CheckpointSigner,
  computeCheckpointKeyId,
  createCheckpointSigner,
  isArchivedBy,
  isRemovalSignedBy,
  isSignedBy,
  type Removal,
} from './checkpoint.ts'
import { listSegments, replaceFile, writeCheckpoint } from './segments.ts'

const context: SealContext = { table: 'audit_log', row: 'checkpoint', column: 'private_key' }
const sealedName = 'checkpoint.key'
/** The public half, beside the log and its archives. */
export const checkpointFileName = 'checkpoint.pub'

/** The key of a log, and the key that it replaces. */
export interface CheckpointKey {
  readonly signer: CheckpointSigner
  /** Set when the key is new: the record for the log. */
  readonly made?: { readonly key: string; readonly replaces?: string }
}

/**
 * The Ed25519 key that signs the checkpoints of a log: made when there is none, sealed by the root key. One that this
 * database cannot open (it was made anew, or restored from before the key) is replaced by a new one, which signs the
 * checkpoints of the old one again; the log records both.
 * @param stamp for the name that a key is put aside under
 */
export async function openCheckpointKey(folder: string, seal: Seal, stamp: string): Promise<CheckpointKey> {
  const path = join(folder, sealedName)
  const before = readPublicCheckpointKey(folder)
  const known = existsSync(path) ? await openKey(seal, readFileSync(path)) : undefined
  const signer = known === undefined ? newKey(path, seal, stamp) : createCheckpointSigner(known)
  const replaces = before === undefined ? undefined : computeCheckpointKeyId(before)
  if (replaces === signer.keyId) return { signer }
  if (before !== undefined) signAgain(folder, before, signer)
  // Done last: a start that was interrupted before continues here.
  writePublic(folder, signer)
  return { signer, made: { key: signer.keyId, ...(replaces !== undefined && { replaces }) } }
}

/** The key as a command finds it; undefined = the seal does not open it, or there is none. */
export async function readCheckpointSigner(
  folder: string,
  seal: Pick<Seal, 'open'>,
): Promise<CheckpointSigner | undefined> {
  const path = join(folder, sealedName)
  const key = existsSync(path) ? await openKey(seal, readFileSync(path)) : undefined
  return key === undefined ? undefined : createCheckpointSigner(key)
}

function newKey(path: string, seal: Seal, stamp: string): CheckpointSigner {
  const { privateKey } = generateKeyPairSync('ed25519')
  const der = privateKey.export({ type: 'pkcs8', format: 'der' })
  const sealed = seal.seal(context, der)
  der.fill(0)
  if (existsSync(path)) renameSync(path, `${path}.replaced-${stamp}`)
  replaceFile(path, sealed)
  return createCheckpointSigner(privateKey)
}

/** The public key file beside the log; undefined = it is missing, or contains no key. */
export function readPublicCheckpointKey(folder: string): KeyObject | undefined {
  const path = join(folder, checkpointFileName)
  try {
    return existsSync(path) ? createPublicKey(readFileSync(path)) : undefined
  } catch {
    return undefined
  }
}

async function openKey(seal: Pick<Seal, 'open'>, sealed: Uint8Array): Promise<KeyObject | undefined> {
  try {
    const der = Buffer.from(await seal.open(context, sealed))
    const key = createPrivateKey({ key: der, type: 'pkcs8', format: 'der' })
    der.fill(0)
    return key
  } catch {
    return undefined
  }
}

function writePublic(folder: string, { publicKey }: CheckpointSigner): void {
  replaceFile(join(folder, checkpointFileName), publicKey.export({ type: 'spki', format: 'pem' }))
}

function signAgain(folder: string, before: KeyObject, signer: CheckpointSigner): void {
  for (const { signed } of listSegments(folder)) {
    if (signed === undefined || !isSignedBy([before], signed)) continue
    const { timestamp: _, archived, removal, ...rest } = signed
    const again = signer.sign({ ...signed.checkpoint, key: signer.keyId })
    const stored = isArchivedBy([before], signed) && archived !== undefined ? archived : undefined
    const removed = isRemovalSignedBy([before], signed)
      ? signer.signRemoval(again.checkpoint, removal as Removal)
      : removal
    writeCheckpoint(folder, {
      ...rest,
      ...again,
      ...(removed !== undefined && { removal: removed }),
      ...(stored !== undefined && { archived: signer.signArchived(again.checkpoint, stored) }),
    })
  }
}
