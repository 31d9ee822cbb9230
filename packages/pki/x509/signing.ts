import { constants, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import {
  contextTag,
  der,
  derBitString,
  derBits,
  derIdentifier,
  derMembers,
  derNull,
  derNumber,
  derObjectIdentifier,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { type ByteKeyFamily, byteKeysByIdentifier } from '../keys/key-algorithms.ts'
import { parseSpki } from '../keys/pkcs8.ts'

interface Scheme {
  readonly hash: string | null
  /** `asymmetricKeyType` of the keys for this identifier. */
  readonly keyType: readonly string[]
  readonly padding?: number
  readonly saltLength?: number
}

const rsa = ['rsa']
const ec = ['ec']

/** Supported schemes; signatures with SHA-1 or MD5 are neither created nor accepted. */
const schemes: ReadonlyMap<string, Scheme> = new Map<string, Scheme>([
  ['1.2.840.113549.1.1.14', { hash: 'sha224', keyType: rsa }],
  ['1.2.840.113549.1.1.11', { hash: 'sha256', keyType: rsa }],
  ['1.2.840.113549.1.1.12', { hash: 'sha384', keyType: rsa }],
  ['1.2.840.113549.1.1.13', { hash: 'sha512', keyType: rsa }],
  ['1.2.840.10045.4.3.1', { hash: 'sha224', keyType: ec }],
  ['1.2.840.10045.4.3.2', { hash: 'sha256', keyType: ec }],
  ['1.2.840.10045.4.3.3', { hash: 'sha384', keyType: ec }],
  ['1.2.840.10045.4.3.4', { hash: 'sha512', keyType: ec }],
])
const pss = '1.2.840.113549.1.1.10'
const mgf1 = '1.2.840.113549.1.1.8'
const hashes: ReadonlyMap<string, string> = new Map([
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
])

/** Signer of certificates, CRLs and OCSP responses: an AlgorithmIdentifier and a function. */
export interface CertificateSigner {
  readonly algorithm: Buffer
  sign(data: Uint8Array): Promise<Buffer>
}

const ecdsaSignatures: Readonly<Record<string, readonly [identifier: string, hash: string]>> = {
  sha256: ['1.2.840.10045.4.3.2', 'sha256'],
  sha384: ['1.2.840.10045.4.3.3', 'sha384'],
  sha512: ['1.2.840.10045.4.3.4', 'sha512'],
}

/** Returns a signer for a local key, or the given signer of an external key. @throws PkiError `cannot_sign` */
export function selectSigner(by: {
  readonly key: KeyObject | CertificateSigner
  readonly spki: Uint8Array
}): CertificateSigner {
  return 'sign' in by.key ? by.key : certificateSigner(by.key, by.spki)
}

/** @throws PkiError `cannot_sign` for keys that do not sign */
export function certificateSigner(key: KeyObject, spki: Uint8Array): CertificateSigner {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return {
        algorithm: rsaSignatureAlgorithm('pkcs1', 'sha256'),
        sign: (data) => onPool('sha256', key, data),
      }
    case 'ec': {
      const curve = key.asymmetricKeyDetails?.namedCurve
      const [identifier, hash] = ecdsaSignatures[hashOfCurve(curve)] ?? ['1.2.840.10045.4.3.2', 'sha256']
      const sign = curve === 'prime256v1' ? signSync : onPool
      return {
        algorithm: derSequence(derObjectIdentifier(identifier)),
        sign: (data) => sign(hash, key, data),
      }
    }
    default: {
      const { identifier } = parseSpki(spki)
      const family = byteKeysByIdentifier(identifier)
      // The identifier of such a key is also that of its signatures (RFC 8410, RFC 9881, RFC 9909).
      if (family === undefined || !signs(family))
        throw pkiError('cannot_sign', 'The key of the issuer cannot sign.')
      const sign = family.algorithm === 'Ed25519' ? signSync : onPool
      return {
        algorithm: derSequence(derObjectIdentifier(identifier)),
        sign: (data) => sign(null, key, data),
      }
    }
  }
}

/**
 * Hashes: the last number of sha…WithRSAEncryption and of the hash identifier, and the length in bytes (RFC 4055
 * §2.1, §5).
 */
const rsaHashes = {
  sha256: { withRsa: 11, hash: 1, bytes: 32 },
  sha384: { withRsa: 12, hash: 2, bytes: 48 },
  sha512: { withRsa: 13, hash: 3, bytes: 64 },
} as const

/** AlgorithmIdentifier of RSA signatures; for PSS with the same hash for the mask, and a salt of its length (RFC 4055 §3.1). */
export function rsaSignatureAlgorithm(scheme: 'pkcs1' | 'pss', name: keyof typeof rsaHashes): Buffer {
  const { withRsa, hash, bytes } = rsaHashes[name]
  if (scheme === 'pkcs1') return derSequence(derObjectIdentifier(`1.2.840.113549.1.1.${withRsa}`), derNull)
  const hashAlgorithm = derSequence(derObjectIdentifier(`2.16.840.1.101.3.4.2.${hash}`), derNull)
  const parameters = derSequence(
    der(contextTag(0), hashAlgorithm),
    der(contextTag(1), derSequence(derObjectIdentifier(mgf1), hashAlgorithm)),
    der(contextTag(2), derNumber(bytes)),
  )
  return derSequence(derObjectIdentifier(pss), parameters)
}

function signs({ algorithm }: ByteKeyFamily): boolean {
  return algorithm.startsWith('Ed') || algorithm.includes('-DSA-')
}

/** Selects a hash with the strength of the curve (SP 800-57 part 1, table 3). */
function hashOfCurve(curve: string | undefined): string {
  switch (curve) {
    case 'secp384r1':
    case 'brainpoolP384r1':
      return 'sha384'
    case 'secp521r1':
    case 'brainpoolP512r1':
      return 'sha512'
    default:
      return 'sha256'
  }
}

/** Maximum bytes to sign synchronously: hashing them takes less time than the thread pool adds. */
const maxSyncBytes = 16_384

/** Signs synchronously: a signature with P-256 or Ed25519 takes 25 µs, and the thread pool would add half of that. */
async function signSync(hash: string | null, key: KeyObject, data: Uint8Array): Promise<Buffer> {
  if (data.length > maxSyncBytes) return onPool(hash, key, data)
  try {
    return sign(hash, data, key)
  } catch {
    throw pkiError('cannot_sign', 'CRYPTO')
  }
}

function onPool(hash: string | null, key: KeyObject, data: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign(hash, data, key, (error, signature) => {
      if (error) reject(pkiError('cannot_sign', 'CRYPTO'))
      else resolve(signature)
    })
  })
}

/**
 * Verifies the signature of a request.
 * @param algorithm DER of the AlgorithmIdentifier
 * @throws PkiError `invalid_request` for unsupported or weak algorithms
 */
export function signatureHolds(
  algorithm: Uint8Array,
  key: KeyObject,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  const scheme = findScheme(algorithm)
  if (scheme === undefined)
    throw pkiError('invalid_request', 'The algorithm of the signature is not supported.')
  return verifies(scheme, key, data, signature)
}

/** The outer structure of a certificate, a CRL or an OCSP response: signed bytes and algorithm. */
export interface Signed {
  /** DER of the AlgorithmIdentifier. */
  readonly algorithm: Uint8Array
  /** The signed bytes. */
  readonly data: Uint8Array
  readonly signature: Uint8Array
}

/** Whether it is signed with this key. An unsupported or weak algorithm counts as no signature. @throws PkiError */
export function isSignedWith({ algorithm, data, signature }: Signed, key: KeyObject): boolean {
  const scheme = findScheme(algorithm)
  return scheme !== undefined && verifies(scheme, key, data, signature)
}

function findScheme(algorithm: Uint8Array): Scheme | undefined {
  const [identifier, parameters] = derMembers(algorithm, 'The signature')
  const named = derIdentifier(identifier, 'The signature')
  return named === pss ? pssScheme(parameters?.whole) : (schemes.get(named) ?? pureScheme(named))
}

function verifies(scheme: Scheme, key: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  const { hash, keyType, ...padding } = scheme
  // OpenSSL would verify with any key, for example an ECDSA signature under an RSA identifier.
  if (!keyType.includes(key.asymmetricKeyType ?? '')) return false
  try {
    return verify(hash, data, { key, ...padding }, signature)
  } catch {
    return false
  }
}

function pureScheme(identifier: string): Scheme | undefined {
  const family = byteKeysByIdentifier(identifier)
  return family === undefined ? undefined : { hash: null, keyType: [family.algorithm.toLowerCase()] }
}

/** RFC 4055 §3.1: both hashes must be the same. Absent parameters mean SHA-1, which is not accepted. */
function pssScheme(parameters: Uint8Array | undefined): Scheme | undefined {
  if (parameters === undefined) return undefined
  const what = 'The signature'
  const members = derMembers(parameters, what)
  const hashMember = members.find(({ tag }) => tag === contextTag(0))
  const saltMember = members.find(({ tag }) => tag === contextTag(2))
  if (hashMember === undefined) return undefined
  const [hashIdentifier] = derMembers(hashMember.content, what)
  const hash = hashes.get(derIdentifier(hashIdentifier, what))
  if (hash === undefined) return undefined
  const [salt] = saltMember === undefined ? [] : derMembers(derSequence(saltMember.content), what)
  return {
    hash,
    keyType: ['rsa', 'rsa-pss'],
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: salt === undefined ? 20 : derSmallNumber(salt, what),
  }
}

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
