import { contextTag, der, derNumber, derObjectIdentifier, derSequence, derTag } from '../asn1/der.ts'
import { type Extension, encodeExtension } from './extensions.ts'
import { writeSigned } from './signed.ts'
import type { CertificateSigner } from './signing.ts'

const extensionRequest = '1.2.840.113549.1.9.14'

/**
 * Signs a certificate request (PKCS#10, RFC 2986).
 * @param subject DER of the name
 * @param extensions the requested extensions
 * @returns DER
 */
export function issueRequest(
  {
    subject,
    spki,
    extensions,
  }: {
    readonly subject: Uint8Array
    readonly spki: Uint8Array
    readonly extensions: readonly Extension[]
  },
  signer: CertificateSigner,
): Promise<Buffer> {
  const attributes =
    extensions.length === 0
      ? []
      : [
          derSequence(
            derObjectIdentifier(extensionRequest),
            der(derTag.set, derSequence(...extensions.map(encodeExtension))),
          ),
        ]
  return writeSigned(derSequence(derNumber(0), subject, spki, der(contextTag(0), ...attributes)), signer)
}
