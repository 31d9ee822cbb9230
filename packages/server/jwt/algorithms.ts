import { constants, type KeyObject, sign, verify } from 'node:crypto'

export interface VerificationKey {
  readonly kid: string | undefined
  readonly key: KeyObject
  /** Algorithms that the key's type and size allow; a token's `alg` must be one of them. */
  readonly algorithms: readonly string[]
}

/** Keys of one issuer. `find` refreshes a remote set on an unknown kid (throttled) and uses old keys on failure. */
export interface KeySet {
  find(kid: string | undefined): Promise<readonly VerificationKey[]>
  /**
   * For a token without a key id that matches no known key: fetches the set again, throttled as for an unknown kid.
   * undefined when there is nothing newer.
   */
  renewed?(): Promise<readonly VerificationKey[] | undefined>
}

export interface ExpectedToken {
  readonly issuer: string | undefined
  /** At least one of these must be in `aud`; undefined = not checked. */
  readonly audience: readonly string[] | undefined
  readonly requiredClaims: readonly string[]
  readonly leewaySeconds: number
  /** Further restriction of algorithms; undefined = all that the keys allow. */
  readonly algorithms?: readonly string[]
}

export interface VerifiedToken {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** A JWS algorithm (RFC 7518 §3.1, RFC 8037, RFC 9864). */
interface SignatureScheme {
  /** node's type of the keys that do it; of EC keys the curve. */
  readonly key: 'rsa' | 'prime256v1' | 'secp384r1' | 'secp521r1' | 'ed25519'
  readonly hash: string | null
  /** Options of `sign` and `verify` of `node:crypto`. */
  readonly options: {
    readonly padding?: number
    readonly saltLength?: number
    readonly dsaEncoding?: 'ieee-p1363'
  }
  /** Orchestrators sign the tokens of service accounts with it. */
  readonly serviceAccounts?: true
  /** The row that is the same algorithm by its earlier name. */
  readonly synonymOf?: string
}

const pkcs1 = (hash: string): SignatureScheme => ({
  key: 'rsa',
  hash,
  options: { padding: constants.RSA_PKCS1_PADDING },
  serviceAccounts: true,
})
const pss = (hash: string): SignatureScheme => ({
  key: 'rsa',
  hash,
  options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
})
const ecdsa = (key: SignatureScheme['key'], hash: string): SignatureScheme => ({
  key,
  hash,
  options: { dsaEncoding: 'ieee-p1363' },
})

/** The only table of algorithms: all lists of algorithms are derived from it. */
const schemes: Readonly<Record<string, SignatureScheme>> = {
  RS256: pkcs1('sha256'),
  RS384: pkcs1('sha384'),
  RS512: pkcs1('sha512'),
  PS256: pss('sha256'),
  PS384: pss('sha384'),
  PS512: pss('sha512'),
  ES256: { ...ecdsa('prime256v1', 'sha256'), serviceAccounts: true },
  ES384: { ...ecdsa('secp384r1', 'sha384'), serviceAccounts: true },
  ES512: ecdsa('secp521r1', 'sha512'),
  EdDSA: { key: 'ed25519', hash: null, options: {} },
  Ed25519: { key: 'ed25519', hash: null, options: {}, synonymOf: 'EdDSA' },
}

function listNames(holds: (scheme: SignatureScheme) => boolean): readonly string[] {
  return Object.keys(schemes).filter((name) => holds(schemes[name] as SignatureScheme))
}

/** Every algorithm, all of them asymmetric. Which of them a key may be used with follows from the key. */
export const jwsAlgorithms = listNames(() => true)
/** The same without second names. */
export const jwsAlgorithmsOnce = listNames(({ synonymOf }) => synonymOf === undefined)
/** Those that tokens of service accounts may have. */
export const serviceAccountAlgorithms = listNames(({ serviceAccounts }) => serviceAccounts === true)

const minRsaBits = 2048
/** A larger key only costs time, which the author of a key set could choose. */
const maxRsaBits = 8192

/**
 * Algorithms that a key's own type and size allow. A token's `alg` only chooses among these, so that a public key can
 * never be taken for an HMAC secret.
 */
export function getKeyAlgorithms(key: KeyObject): readonly string[] {
  const known = algorithmsByKey.get(key)
  if (known !== undefined) return known
  const algorithms = algorithmsByType(key)
  algorithmsByKey.set(key, algorithms)
  return algorithms
}

/** Caches the result: reading a key's details costs as much as other steps of a signature. */
const algorithmsByKey = new WeakMap<KeyObject, readonly string[]>()

function algorithmsByType(key: KeyObject): readonly string[] {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'rsa' && !isSoundRsa(details?.modulusLength ?? 0, details?.publicExponent ?? 0n)) return []
  const kind = type === 'ec' ? details?.namedCurve : type
  return listNames((scheme) => scheme.key === kind)
}

/** With an exponent of 1 every padded digest is its own signature; the usual ones are 3 and 65537. */
function isSoundRsa(bits: number, exponent: bigint): boolean {
  return bits >= minRsaBits && bits <= maxRsaBits && exponent >= 3n && exponent < 2n ** 33n
}

/**
 * Whether the signature is valid; false for any other one, whatever its length, and for an algorithm that the key does
 * not allow: `algorithms` are those that `getKeyAlgorithms` named, or fewer.
 */
export function verifySignature(
  algorithm: string,
  { key, algorithms }: Pick<VerificationKey, 'key' | 'algorithms'>,
  input: Uint8Array,
  signature: Uint8Array,
): boolean {
  const scheme = schemes[algorithm]
  if (scheme === undefined || !algorithms.includes(algorithm)) return false
  const { hash, options } = scheme
  try {
    return verify(hash, input, { key, ...options }, signature)
  } catch {
    return false
  }
}

/** A signature in JOSE's form (ECDSA as r‖s). */
export function createSignature(algorithm: string, key: KeyObject, input: Uint8Array): Buffer {
  const scheme = schemes[algorithm]
  if (scheme === undefined || !getKeyAlgorithms(key).includes(algorithm)) {
    throw new Error(`a ${key.asymmetricKeyType} key cannot sign with ${algorithm}`)
  }
  const { hash, options } = scheme
  return sign(hash, input, { key, ...options })
}
