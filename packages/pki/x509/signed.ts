import { createPublicKey, type KeyObject } from 'node:crypto'
import { derBitString, derBits, derMembers, derSequence, derTag } from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import type { CertificateSigner, Signed } from './signing.ts'

/** The three members that certificates (RFC 5280 §4.1), CRLs (§5.1) and answers of OCSP begin with. @throws PkiError */
export function readSigned(der: Uint8Array, what: string): Signed {
  const [data, algorithm, signature, another] = derMembers(der, what)
  if (data?.tag !== derTag.sequence || algorithm?.tag !== derTag.sequence || another !== undefined)
    throw pkiError('malformed', `${what} is not a signed structure.`)
  return { data: data.whole, algorithm: algorithm.whole, signature: derBits(signature, what) }
}

/** Signs a structure and puts algorithm and signature behind it. @returns DER */
export async function writeSigned(data: Uint8Array, signer: CertificateSigner): Promise<Buffer> {
  return derSequence(data, signer.algorithm, derBitString(await signer.sign(data)))
}

/** @throws PkiError */
export function publicKeyFromSpki(spki: Uint8Array): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    throw pkiError('malformed', 'The public key cannot be read.')
  }
}
