import { Enumeration } from './enumerations.gen.ts'
import { atLeast, type KmipVersion } from './versions.ts'

/**
 * Algorithms and key formats of EC keys in each version. In 1.0 and 1.1 both state the use of the key: ECDSA, ECDH or
 * ECMQV. 1.2 adds the algorithm EC, 1.3 the forms TransparentEC…, and 2.0 has only the forms TransparentEC… (KMIP 1.2
 * §9.1.3.2.3 and §9.1.3.2.13, 1.3 §9.1.3.2.3, 2.1 §11.25). All these forms have the same members.
 */
const { CryptographicAlgorithm: Algorithm, KeyFormatType: Format } = Enumeration

const privateForms: ReadonlySet<number> = new Set([
  Format.TransparentECDSAPrivateKey,
  Format.TransparentECDHPrivateKey,
  Format.TransparentECMQVPrivateKey,
])
const publicForms: ReadonlySet<number> = new Set([
  Format.TransparentECDSAPublicKey,
  Format.TransparentECDHPublicKey,
  Format.TransparentECMQVPublicKey,
])

/** Whether this version lacks one of the names. 1.3 and 1.4 have all. */
export function renamesEllipticKeys(version: KmipVersion): boolean {
  return atLeast(version, '2.0') || !atLeast(version, '1.3')
}

/**
 * Converts a KeyFormatType to the names of a version. @param algorithm CryptographicAlgorithm of the key, if
 * known: 1.0 to 1.2 require its use
 */
export function keyFormatIn(version: KmipVersion, format: number, algorithm: number | undefined): number {
  if (atLeast(version, '2.0')) {
    if (privateForms.has(format)) return Format.TransparentECPrivateKey
    return publicForms.has(format) ? Format.TransparentECPublicKey : format
  }
  if (atLeast(version, '1.3')) return format
  if (format !== Format.TransparentECPrivateKey && format !== Format.TransparentECPublicKey) return format
  const isPrivate = format === Format.TransparentECPrivateKey
  switch (algorithm) {
    case Algorithm.ECDH:
      return isPrivate ? Format.TransparentECDHPrivateKey : Format.TransparentECDHPublicKey
    case Algorithm.ECMQV:
      return isPrivate ? Format.TransparentECMQVPrivateKey : Format.TransparentECMQVPublicKey
    default:
      return isPrivate ? Format.TransparentECDSAPrivateKey : Format.TransparentECDSAPublicKey
  }
}

/**
 * Converts a CryptographicAlgorithm to the names of a version: before 1.2, which added EC, a key without a
 * specific use is an ECDSA key.
 */
export function algorithmIn(version: KmipVersion, algorithm: number): number {
  return algorithm === Algorithm.EC && !atLeast(version, '1.2') ? Algorithm.ECDSA : algorithm
}
