import { createPublicKey } from 'node:crypto'
import { failure } from '@warder/base'
import { fits, type KeyMaterial, loadKey, type MaterialDescriptor } from '../material/material.ts'

/**
 * Loads what `serializeMaterial` wrote. The caller still owns `bytes` and wipes them.
 * @throws Failure internal_error when the bytes are not a key of the described type.
 */
export function parseMaterial(descriptor: MaterialDescriptor, bytes: Uint8Array): KeyMaterial {
  const key = loadKey(descriptor.kind, bytes)
  if (!fits(descriptor, key)) throw failure('internal_error', 'stored key does not fit its descriptor')
  return { ...descriptor, key }
}

/** The public half of a private key. */
export function publicFromPrivate(material: KeyMaterial): KeyMaterial {
  if (material.kind !== 'private') throw failure('crypto_failure', 'The key is not a private key.')
  return { ...material, kind: 'public', key: createPublicKey(material.key) }
}
