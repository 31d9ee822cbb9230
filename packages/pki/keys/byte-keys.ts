import { contextTag, der, derContent, derElements, derOctets, derTag } from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import type { ByteKeyFamily } from './byte-key-families.ts'
import type { KeyPolicy, ParsedKey } from './parsed-key.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki, type WrappedKeyBytes } from './pkcs8.ts'

/** @throws PkiError when the bytes do not have the length of the family */
export function bytePrivateFromPkcs8(
  inner: WrappedKeyBytes,
  whole: Uint8Array,
  family: ByteKeyFamily,
  policy: KeyPolicy,
): ParsedKey {
  readPrivateBytes(inner.key, family)
  return describeKey(Uint8Array.from(whole), family, policy)
}

/** Builds a key from the raw private key or its seed, distinguished by length. @throws PkiError */
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
  return describeKey(
    buildPkcs8({ identifier: family.identifier, parameters: undefined, key }),
    family,
    policy,
  )
}

/** @throws PkiError */
export function bytePublicFromRaw(raw: Uint8Array, family: ByteKeyFamily, policy: KeyPolicy): ParsedKey {
  if (raw.length !== family.publicBytes) throw wrongLength(family)
  const canonical = buildSpki({ identifier: family.identifier, parameters: undefined, key: raw })
  return describeKey(canonical, family, policy)
}

/** Returns the raw bytes of a stored key; of a private key its seed, if it was stored as a seed. */
export function toRawKey(
  type: 'PrivateKey' | 'PublicKey',
  canonical: Uint8Array,
  family: ByteKeyFamily,
): Uint8Array {
  return type === 'PublicKey' ? parseSpki(canonical).key : readPrivateBytes(parsePkcs8(canonical).key, family)
}

function readPrivateBytes(key: Uint8Array, family: ByteKeyFamily): Uint8Array {
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
  return pkiError('invalid_key', `The key does not have the length of a key of ${algorithm}.`)
}

function describeKey(canonical: Uint8Array, family: ByteKeyFamily, { fips }: KeyPolicy): ParsedKey {
  const { algorithm, bits } = family
  if (fips) throw pkiError('unsupported_key', `Keys of ${algorithm} are not available in FIPS mode.`)
  return { canonical, algorithm, bits }
}
