import { Enumeration } from './enumerations.gen.ts'
import { atLeast, type KmipVersion } from './versions.ts'

/**
 * The names of EC keys by version. In 1.0 and 1.1 a key is one of a use: ECDSA, ECDH or ECMQV, as algorithm and as
 * transparent form. 1.2 adds the algorithm EC, 1.3 the forms TransparentEC…, and 2.0 has the forms TransparentEC… alone
 * (KMIP 1.2 §9.1.3.2.3 and §9.1.3.2.13, 1.3 §9.1.3.2.3, 2.1 §11.25). The members of all these forms are the same.
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

/** May a client of this version not know one of the names? Those of 1.3 and 1.4 know all. */
export function renamesEllipticKeys(version: KmipVersion): boolean {
  return atLeast(version, '2.0') || !atLeast(version, '1.3')
}

/**
 * A KeyFormatType in the names of a version.
 * @param algorithm CryptographicAlgorithm of the key, where it is known: the use that 1.0 to 1.2 have to be told
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

/** A CryptographicAlgorithm in the names of a version: before EC came with 1.2, keys are for ECDSA unless they say else. */
export function algorithmIn(version: KmipVersion, algorithm: number): number {
  return algorithm === Algorithm.EC && !atLeast(version, '1.2') ? Algorithm.ECDSA : algorithm
}
