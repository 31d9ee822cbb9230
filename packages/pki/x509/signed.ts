import { createPublicKey, type KeyObject } from 'node:crypto'
import { derBitString, derBits, derMembers, derSequence, derTag } from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import type { CertificateSigner, Signed } from './signing.ts'

/** A certificate (RFC 5280 §4.1) or CRL (§5.1) from outside: what is signed, algorithm and signature. @throws PkiError */
export function readSigned(der: Uint8Array, what: string): Signed {
  const { signed, behind } = readSignedAnd(der, what)
  if (behind.length > 0) throw pkiError('malformed', `${what} has too many members.`)
  return signed
}

/** The same where members may follow: a response of OCSP brings certificates. @throws PkiError */
export function readSignedAnd(der: Uint8Array, what: string) {
  const [data, algorithm, signature, ...behind] = derMembers(der, what)
  if (data?.tag !== derTag.sequence || algorithm?.tag !== derTag.sequence)
    throw pkiError('malformed', `${what} is not a signed structure.`)
  const signed = { data: data.whole, algorithm: algorithm.whole, signature: derBits(signature, what) }
  return { signed, behind }
}

/** Signs a structure and puts algorithm and signature behind it, then what is given. @returns DER */
export async function writeSigned(
  data: Uint8Array,
  signer: CertificateSigner,
  ...behind: readonly Uint8Array[]
): Promise<Buffer> {
  return derSequence(data, signer.algorithm, derBitString(await signer.sign(data)), ...behind)
}

/** @throws PkiError */
export function publicKeyFromSpki(spki: Uint8Array): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    throw pkiError('malformed', 'The public key cannot be read.')
  }
}
