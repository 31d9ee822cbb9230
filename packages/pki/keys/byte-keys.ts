import type { ValueName } from '@warder/kmip/tables'
import { kmipFailure } from '../../kms/kmip/engine/failure.ts'
import type { KeyPolicy, ParsedKey } from '../../kms/kmip/keys/parsed-key.ts'
import { contextTag, der, derContent, derElements, derOctets, derTag } from '../asn1/der.ts'
import { type CurveName, okpCurves } from './curves.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki, type WrappedKeyBytes } from './pkcs8.ts'

/**
 * Keys that are strings of bytes of one length: Edwards and Montgomery curves (RFC 8410), ML-KEM (RFC 9935), ML-DSA
 * (RFC 9881) and SLH-DSA (RFC 9909).
 */
export interface ByteKeyFamily {
  readonly algorithm: ValueName<'CryptographicAlgorithm'>
  readonly identifier: string
  /** Of the curves: how RecommendedCurve names it. */
  readonly curve: CurveName | undefined
  /** CryptographicLength. */
  readonly bits: number
  readonly publicBytes: number
  /** Length of the seed, where a private key may be one: [0] in PKCS#8. */
  readonly seedBytes: number | undefined
  /** Length of the private key itself. */
  readonly privateBytes: number
  /** true: the private key stands in an OCTET STRING within that of PKCS#8. */
  readonly boxed: boolean
}

const okpNames: Partial<Record<CurveName, ValueName<'CryptographicAlgorithm'>>> = {
  CURVE25519: 'ECDH',
  CURVE448: 'ECDH',
  CURVEED25519: 'Ed25519',
  CURVEED448: 'Ed448',
}

const nist = '2.16.840.1.101.3.4'

/** The length of a post-quantum key is given as that of its public key. */
function postQuantum(
  algorithm: ValueName<'CryptographicAlgorithm'>,
  arc: string,
  publicBytes: number,
  privateBytes: number,
  seedBytes?: number,
): ByteKeyFamily {
  const boxed = seedBytes !== undefined
  const identifier = `${nist}.${arc}`
  return {
    algorithm,
    identifier,
    curve: undefined,
    bits: publicBytes * 8,
    publicBytes,
    seedBytes,
    privateBytes,
    boxed,
  }
}

const families: readonly ByteKeyFamily[] = [
  ...okpCurves.map(
    ({ name, identifier, bytes, bits }): ByteKeyFamily => ({
      algorithm: okpNames[name] ?? 'EC',
      identifier,
      curve: name,
      bits,
      publicBytes: bytes,
      seedBytes: undefined,
      privateBytes: bytes,
      boxed: true,
    }),
  ),
  // FIPS 203 §8, table 3.
  postQuantum('ML_KEM_512', '4.1', 800, 1632, 64),
  postQuantum('ML_KEM_768', '4.2', 1184, 2400, 64),
  postQuantum('ML_KEM_1024', '4.3', 1568, 3168, 64),
  // FIPS 204 §4, table 2.
  postQuantum('ML_DSA_44', '3.17', 1312, 2560, 32),
  postQuantum('ML_DSA_65', '3.18', 1952, 4032, 32),
  postQuantum('ML_DSA_87', '3.19', 2592, 4896, 32),
  // FIPS 205 §11, table 2.
  postQuantum('SLH_DSA_SHA2_128s', '3.20', 32, 64),
  postQuantum('SLH_DSA_SHA2_128f', '3.21', 32, 64),
  postQuantum('SLH_DSA_SHA2_192s', '3.22', 48, 96),
  postQuantum('SLH_DSA_SHA2_192f', '3.23', 48, 96),
  postQuantum('SLH_DSA_SHA2_256s', '3.24', 64, 128),
  postQuantum('SLH_DSA_SHA2_256f', '3.25', 64, 128),
  postQuantum('SLH_DSA_SHAKE_128s', '3.26', 32, 64),
  postQuantum('SLH_DSA_SHAKE_128f', '3.27', 32, 64),
  postQuantum('SLH_DSA_SHAKE_192s', '3.28', 48, 96),
  postQuantum('SLH_DSA_SHAKE_192f', '3.29', 48, 96),
  postQuantum('SLH_DSA_SHAKE_256s', '3.30', 64, 128),
  postQuantum('SLH_DSA_SHAKE_256f', '3.31', 64, 128),
]

const byIdentifier = new Map(families.map((family) => [family.identifier, family]))

export function byteKeysByIdentifier(dotted: string): ByteKeyFamily | undefined {
  return byIdentifier.get(dotted)
}

/** The family of an algorithm, or of the curve where the algorithm leaves that open (EC, ECDH …). */
export function byteKeysOf(
  algorithm: ValueName<'CryptographicAlgorithm'> | undefined,
  curve: CurveName | undefined,
): ByteKeyFamily | undefined {
  return families.find((family) =>
    curve === undefined ? family.algorithm === algorithm && algorithm !== 'ECDH' : family.curve === curve,
  )
}

/** @throws InvalidField when the bytes are not of the length that the family has */
export function bytePrivateFromPkcs8(
  inner: WrappedKeyBytes,
  whole: Uint8Array,
  family: ByteKeyFamily,
  policy: KeyPolicy,
): ParsedKey {
  privateBytesOf(inner.key, family)
  return described(Uint8Array.from(whole), family, policy)
}

/** From the plain private key or its seed, told apart by their length. @throws InvalidField */
export function bytePrivateFromRaw(raw: Uint8Array, family: ByteKeyFamily, policy: KeyPolicy): ParsedKey {
  const key =
    raw.length === family.seedBytes
      ? der(contextTag(0, false), raw)
      : raw.length !== family.privateBytes
        ? undefined
        : family.boxed
          ? derOctets(raw)
          : raw
  if (key === undefined) throw wrongLength(family)
  return described(buildPkcs8({ identifier: family.identifier, parameters: undefined, key }), family, policy)
}

/** @throws InvalidField */
export function bytePublicFromRaw(raw: Uint8Array, family: ByteKeyFamily, policy: KeyPolicy): ParsedKey {
  if (raw.length !== family.publicBytes) throw wrongLength(family)
  const canonical = buildSpki({ identifier: family.identifier, parameters: undefined, key: raw })
  return described(canonical, family, policy)
}

/** The plain bytes of a stored key: of a private one the seed where it was stored as a seed. */
export function rawOf(
  type: 'PrivateKey' | 'PublicKey',
  canonical: Uint8Array,
  family: ByteKeyFamily,
): Uint8Array {
  return type === 'PublicKey' ? parseSpki(canonical).key : privateBytesOf(parsePkcs8(canonical).key, family)
}

function privateBytesOf(key: Uint8Array, family: ByteKeyFamily): Uint8Array {
  if (!family.boxed) {
    if (key.length !== family.privateBytes) throw wrongLength(family)
    return key
  }
  const [element, more] = derElements(key, 'The private key')
  if (element === undefined || more !== undefined) throw wrongLength(family)
  if (element.tag === contextTag(0, false) && element.content.length === family.seedBytes)
    return element.content
  // Both: SEQUENCE { seed, expandedKey } (RFC 9881 §6).
  if (element.tag === derTag.sequence && family.seedBytes !== undefined) {
    const [seed, expanded] = derElements(element.content, 'The private key')
    if (derContent(expanded, derTag.octetString, 'The private key').length !== family.privateBytes)
      throw wrongLength(family)
    return derContent(seed, derTag.octetString, 'The private key')
  }
  const content = derContent(element, derTag.octetString, 'The private key')
  if (content.length !== family.privateBytes) throw wrongLength(family)
  return content
}

function wrongLength({ algorithm }: ByteKeyFamily) {
  return kmipFailure('InvalidField', `The key is not as long as one of ${algorithm} is.`)
}

function described(canonical: Uint8Array, family: ByteKeyFamily, { fips }: KeyPolicy): ParsedKey {
  const { algorithm, bits, curve } = family
  if (fips) throw kmipFailure('InvalidField', `Keys of ${algorithm} are not available in FIPS mode.`)
  return { canonical, algorithm, bits, ...(curve !== undefined && { curve }) }
}
