import { createPrivateKey, createPublicKey } from 'node:crypto'
import { contextTag, der, derContent, derElements, derOctets, derTag } from '../der.ts'
import { pkiError } from '../error.ts'
import { curveOfParameters, ecIdentifier, ecPrivateFromSec1, ecPublicFromPoint } from './ec.ts'
import { findFiniteField, finiteFieldFromDer } from './finite-field.ts'
import { type ByteKeyFamily, byteKeysByIdentifier, type KeyPolicy, type ParsedKey } from './key-algorithms.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki, type WrappedKeyBytes } from './pkcs8.ts'
import { rsaIdentifier, rsaPrivateFromPkcs1, rsaPublicFromPkcs1 } from './rsa.ts'

/** Reads the private key in a PKCS#8 structure, of every supported algorithm. @throws PkiError */
export function privateFromPkcs8(bytes: Uint8Array, policy: KeyPolicy): ParsedKey {
  const inner = parsePkcs8(bytes)
  requireOwnPublicHalf(bytes)
  // The structure is stored unchanged: it may contain attributes that a new encoding would lose.
  const asItCame = (parsed: ParsedKey): ParsedKey => ({ ...parsed, canonical: Uint8Array.from(bytes) })
  if (inner.identifier === rsaIdentifier) return asItCame(rsaPrivateFromPkcs1(inner.key, policy))
  if (inner.identifier === ecIdentifier)
    return asItCame(ecPrivateFromSec1(inner.key, curveOfParameters(inner.parameters, policy), policy))
  const family = byteKeysByIdentifier(inner.identifier)
  if (family !== undefined) return bytePrivateFromPkcs8(inner, bytes, family, policy)
  const field = findFiniteField(inner.identifier)
  if (field !== undefined) return finiteFieldFromDer('PrivateKey', field, inner, bytes, policy)
  throw unknownAlgorithm()
}

/** Reads the public key in a SubjectPublicKeyInfo, of every supported algorithm. @throws PkiError */
export function publicFromSpki(bytes: Uint8Array, policy: KeyPolicy): ParsedKey {
  const inner = parseSpki(bytes)
  if (inner.identifier === rsaIdentifier) return rsaPublicFromPkcs1(inner.key, policy)
  if (inner.identifier === ecIdentifier)
    return ecPublicFromPoint(inner.key, curveOfParameters(inner.parameters, policy))
  const family = byteKeysByIdentifier(inner.identifier)
  if (family !== undefined) return bytePublicFromRaw(inner.key, family, policy)
  const field = findFiniteField(inner.identifier)
  if (field !== undefined) return finiteFieldFromDer('PublicKey', field, inner, bytes, policy)
  throw unknownAlgorithm()
}

/** Checks that OpenSSL, which will use the key, can load it. @throws PkiError */
export function requireLoadable(type: 'PrivateKey' | 'PublicKey', { canonical }: ParsedKey): void {
  const key = Buffer.from(canonical.buffer, canonical.byteOffset, canonical.byteLength)
  try {
    if (type === 'PrivateKey') createPrivateKey({ key, format: 'der', type: 'pkcs8' })
    else createPublicKey({ key, format: 'der', type: 'spki' })
  } catch {
    // The cause is dropped on purpose: a parser's message may quote its input.
    throw pkiError('invalid_key', 'The key cannot be loaded.')
  }
}

/**
 * Checks that the public key in a PKCS#8 structure (RFC 5958 §2) matches the private key. OpenSSL ignores it, but
 * other implementations sign with it, and a wrong one then discloses the private key (RFC 8032 §5.1.6 hashes it).
 * @throws PkiError
 */
export function requireOwnPublicHalf(bytes: Uint8Array): void {
  const { publicKey } = parsePkcs8(bytes)
  if (publicKey === undefined) return
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let own: Uint8Array
  try {
    const spki = createPublicKey(createPrivateKey({ key, format: 'der', type: 'pkcs8' })).export({
      format: 'der',
      type: 'spki',
    })
    own = parseSpki(spki).key
  } catch {
    throw pkiError('invalid_key', 'The key cannot be loaded.')
  }
  if (Buffer.compare(own, publicKey) !== 0)
    throw pkiError('invalid_value', 'The public key in the PKCS#8 key does not match the private key.')
}

function unknownAlgorithm() {
  return pkiError('unsupported_key', 'The algorithm of the key is not supported.')
}

/** @throws PkiError when the bytes do not have the length of the family */
function bytePrivateFromPkcs8(
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
