import { createPublicKey, type KeyObject } from 'node:crypto'
import { derBitString, derBits, derMembers, derSequence, derTag } from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import type { CertificateSigner, Signed } from './signing.ts'

/**
 * Reads the outer structure of a certificate (RFC 5280 §4.1) or CRL (§5.1): signed data, algorithm and signature.
 * @throws PkiError
 */
export function readSigned(der: Uint8Array, what: string): Signed {
  const { signed, behind } = readSignedAnd(der, what)
  if (behind.length > 0) throw pkiError('malformed', `${what} has too many members.`)
  return signed
}

/** The same with further members: an OCSP response includes certificates. */
export function readSignedAnd(der: Uint8Array, what: string) {
  const [data, algorithm, signature, ...behind] = derMembers(der, what)
  if (data?.tag !== derTag.sequence || algorithm?.tag !== derTag.sequence)
    throw pkiError('malformed', `${what} is not a signed structure.`)
  const signed = { data: data.whole, algorithm: algorithm.whole, signature: derBits(signature, what) }
  return { signed, behind }
}

/** Signs a structure and appends algorithm, signature and the given members. @returns DER */
export async function writeSigned(
  data: Uint8Array,
  signer: CertificateSigner,
  ...behind: readonly Uint8Array[]
): Promise<Buffer> {
  return derSequence(data, signer.algorithm, derBitString(await signer.sign(data)), ...behind)
}

/** Cache of parsed keys: a key is parsed for its request, for the rules and for its certificate in succession. */
const lastRead = new Map<string, KeyObject>()
const maxCachedSignatures = 64
const maxCachedBytes = 4096

/** @throws PkiError */
export function publicKeyFromSpki(spki: Uint8Array): KeyObject {
  const der = Buffer.from(spki)
  const name = der.length > maxCachedBytes ? undefined : der.toString('latin1')
  const known = name === undefined ? undefined : lastRead.get(name)
  if (known !== undefined) return known
  const key = readKey(der)
  if (name !== undefined) {
    const [oldest] = lastRead.keys()
    if (lastRead.size >= maxCachedSignatures && oldest !== undefined) lastRead.delete(oldest)
    lastRead.set(name, key)
  }
  return key
}

function readKey(der: Buffer): KeyObject {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' })
  } catch {
    throw pkiError('malformed', 'The public key cannot be read.')
  }
}
