import { contextTag, der, derNumber, derObjectIdentifier, derSequence, derTag } from '../asn1/der.ts'

const signedData = '1.2.840.113549.1.7.2'
const data = '1.2.840.113549.1.7.1'

/** Encodes an unsigned PKCS#7 SignedData that contains only certificates (RFC 2315 §9.1). @returns DER */
export function certificatesOnly(certificates: readonly Uint8Array[]): Buffer {
  const nothing = der(derTag.set)
  const content = derSequence(
    derNumber(1),
    nothing,
    derSequence(derObjectIdentifier(data)),
    der(contextTag(0), ...certificates),
    nothing,
  )
  return derSequence(derObjectIdentifier(signedData), der(contextTag(0), content))
}
