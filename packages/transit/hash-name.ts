import { failure } from '@warder/base'
import type { HashName } from '@warder/crypto'

/** Vault's names of hashes. */
const hashes: Readonly<Record<string, HashName>> = {
  sha1: 'SHA_1',
  'sha2-224': 'SHA_224',
  'sha2-256': 'SHA_256',
  'sha2-384': 'SHA_384',
  'sha2-512': 'SHA_512',
  'sha3-224': 'SHA3_224',
  'sha3-256': 'SHA3_256',
  'sha3-384': 'SHA3_384',
  'sha3-512': 'SHA3_512',
}

/** @throws failure('bad_request') */
export function readHash(name: string): HashName {
  return readName(hashes, name)
}

function readName(served: Readonly<Record<string, HashName>>, name: string): HashName {
  const found = Object.hasOwn(served, name) ? served[name] : undefined
  if (found === undefined)
    throw failure(
      'bad_request',
      `unsupported hash algorithm ${name.slice(0, 64)}: ${Object.keys(served).join(', ')}`,
    )
  return found
}

/** As `readHash`, for the HMACs that Vault serves: all but that with SHA-1. @throws failure('bad_request') */
export function readHmacHash(name: string): HashName {
  const { sha1: _none, ...served } = hashes
  return readName(served, name)
}

/** The hash that an HMAC key is for, by the JOSE algorithm that it is bound to. */
export const hmacHashes: Readonly<Record<string, string>> = {
  HS256: 'sha2-256',
  HS384: 'sha2-384',
  HS512: 'sha2-512',
}
