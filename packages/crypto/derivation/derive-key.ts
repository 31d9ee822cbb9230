import { createHmac, createSecretKey, diffieHellman, hkdfSync, type KeyObject, pbkdf2 } from 'node:crypto'
import { notSupported, refuse } from '../algorithms/failure.ts'
import { digest, type HashAlgorithm, hashAlgorithm } from '../algorithms/hashes.ts'
import { hmacHash, joseHmac } from '../algorithms/macs.ts'
import { type CryptographicParameters, type ParameterName, requireOnly } from '../algorithms/parameters.ts'
import { type AlgorithmPolicy, permit, requireOutsideFips } from '../algorithms/policy.ts'
import { planCipher } from '../cipher/cipher-plan.ts'
import { encryptSymmetric } from '../cipher/symmetric.ts'
import { computeCmac } from '../mac.ts'
import { getPublicHalf } from '../material/material.ts'

/** KMIP 2.1 §11.14. */
export type DerivationMethod =
  | 'PBKDF2'
  | 'HASH'
  | 'HMAC'
  | 'ENCRYPT'
  | 'NIST800_108C'
  | 'NIST800_108F'
  | 'NIST800_108DPI'
  | 'AsymmetricKey'
  | 'AWSSignatureVersion4'
  | 'HKDF'

/** Base of a derived key, with the parameters. */
export interface Derivation {
  readonly method: DerivationMethod
  /** Bytes of the derivation key, or of the password. */
  readonly secret: Uint8Array
  /** Its algorithm, for ENCRYPT. */
  readonly algorithm: string | undefined
  /** For Asymmetric_Key: own private and the other's public key. */
  readonly agreement: { readonly own: KeyObject; readonly other: KeyObject } | undefined
  readonly parameters: CryptographicParameters
  readonly initializationVector: Uint8Array | undefined
  readonly derivationData: Uint8Array | undefined
  readonly salt: Uint8Array | undefined
  readonly iterationCount: number | undefined
  /** Bytes to derive. */
  readonly length: number
}

/** Max bytes of one derivation: it yields key material, not a stream. */
export const maximumDerived = 8192
/** OWASP's recommendation for PBKDF2 with SHA-256, and the default of deployed servers. */
const defaultIterations = 600_000
/** A bound on the work that one request can ask for: about a second of the thread pool. */
export const maximumIterations = 2_000_000
const minIterations = 1

const hashNames: ReadonlySet<ParameterName> = new Set(['hashingAlgorithm', 'cryptographicAlgorithm'])
const kdfNames: ReadonlySet<ParameterName> = new Set([
  ...hashNames,
  'blockCipherMode',
  'counterLength',
] as const)

/**
 * Derives key material (KMIP 2.1 §6.1.14, §11.14).
 *
 * - PBKDF2 (RFC 8018): Salt, IterationCount; HMAC-SHA-1 when no hash is named (RFC 8018 §A.2, TC-DERIVEKEY-3 and -4).
 * - HASH: of the derivation key, or of the derivation data if there is no key but data.
 * - HMAC: of the derivation data under the key. ENCRYPT: the derivation data encrypted with the key.
 * - NIST800_108 in counter, feedback and double-pipeline mode (SP 800-108 §4): PRF(key, … ‖ [i] ‖ DerivationData), the
 *   counter of CounterLength bits (32), big-endian, from 1; feedback starts with InitializationVector or nothing. The
 *   PRF is HMAC, or CMAC with BlockCipherMode CMAC.
 * - HKDF (RFC 5869): Salt, DerivationData as info. AsymmetricKey: the raw shared secret of (EC)DH, X25519, X448.
 * - AWSSignatureVersion4: DerivationData is `date/region/service/aws4_request`, as the scope of a signature is written.
 *
 * @returns `length` bytes
 * @throws invalid_input for missing input or a length above that of the method, CryptoFailure unsupported
 */
export async function deriveKey(derivation: Derivation, policy: AlgorithmPolicy): Promise<Buffer> {
  const { method, secret, parameters, length } = derivation
  if (length < 1 || length > maximumDerived)
    throw refuse(
      'invalid_input',
      `The length of a derived object must be 8 to ${maximumDerived * 8} bits, in whole bytes.`,
    )
  switch (method) {
    case 'PBKDF2':
      return derivePbkdf2(derivation, policy)
    case 'HKDF': {
      requireOnly(parameters, 'HKDF', hashNames)
      const hash = resolveHash(parameters, policy)
      if (length > 255 * hash.bytes) throw tooLong()
      const { salt = new Uint8Array(0), derivationData = new Uint8Array(0) } = derivation
      return Buffer.from(hkdfSync(hash.node, secret, salt, derivationData, length))
    }
    case 'HASH':
      requireOnly(parameters, 'HASH', hashNames)
      return truncate(digest(resolveHash(parameters, policy), derivation.derivationData ?? secret), length)
    case 'HMAC': {
      requireOnly(parameters, 'HMAC', hashNames)
      const hash = resolveHash(parameters, policy)
      return truncate(
        createHmac(hash.node, secret).update(requireDerivationData(derivation)).digest(),
        length,
      )
    }
    case 'ENCRYPT':
      return deriveByEncryption(derivation, policy)
    case 'NIST800_108C':
    case 'NIST800_108F':
    case 'NIST800_108DPI':
      return kdf108(derivation, policy)
    case 'AWSSignatureVersion4':
      return truncate(awsSigningKey(derivation), length)
    case 'AsymmetricKey': {
      requireOnly(parameters, 'AsymmetricKey', new Set(['cryptographicAlgorithm'] as const))
      if (derivation.agreement === undefined)
        throw refuse('invalid_input', 'AsymmetricKey requires a private and a public key.')
      return truncate(agree(derivation.agreement.own, derivation.agreement.other, policy), length)
    }
  }
}

/** JOSE name of the HMAC with the hash that a derivation uses; empty for one without a hash. @throws CryptoFailure */
export function joseDerivation(
  method: DerivationMethod,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): readonly string[] {
  const hash = derivationHash(method, parameters, policy)
  const jose = hash === undefined ? undefined : joseHmac(hash)
  return jose === undefined ? [] : [jose]
}

function derivationHash(
  method: DerivationMethod,
  { blockCipherMode, ...parameters }: CryptographicParameters,
  policy: AlgorithmPolicy,
): HashAlgorithm['name'] | undefined {
  switch (method) {
    case 'ENCRYPT':
    case 'AsymmetricKey':
      return undefined
    case 'AWSSignatureVersion4':
      return 'SHA_256'
    case 'PBKDF2':
      return resolveHash(parameters, policy, 'SHA_1').name
    default:
      return blockCipherMode === undefined ? resolveHash(parameters, policy).name : undefined
  }
}

function tooLong() {
  return refuse('invalid_input', 'The length exceeds the output of the derivation method.')
}

function truncate(bytes: Buffer, length: number): Buffer {
  if (length > bytes.length) throw tooLong()
  const kept = Buffer.from(bytes.subarray(0, length))
  bytes.fill(0)
  return kept
}

function requireDerivationData({ derivationData }: Derivation): Uint8Array {
  if (derivationData === undefined) throw refuse('invalid_input', 'DerivationData is missing.')
  return derivationData
}

/** The hash that the parameters name, by itself or as HMAC; `usual` when they do not. */
function resolveHash(
  { hashingAlgorithm, cryptographicAlgorithm }: CryptographicParameters,
  policy: AlgorithmPolicy,
  usual: HashAlgorithm['name'] = 'SHA_256',
): HashAlgorithm {
  const own = cryptographicAlgorithm === undefined ? undefined : hmacHash(cryptographicAlgorithm)
  if (cryptographicAlgorithm !== undefined && own === undefined)
    throw notSupported(`CryptographicAlgorithm ${cryptographicAlgorithm} is not an HMAC.`)
  if (own !== undefined && hashingAlgorithm !== undefined && own !== hashingAlgorithm)
    throw refuse('bad_parameters', 'HashingAlgorithm contradicts CryptographicAlgorithm.')
  return hashAlgorithm(own ?? hashingAlgorithm ?? usual, policy)
}

function derivePbkdf2(derivation: Derivation, policy: AlgorithmPolicy): Promise<Buffer> {
  const { parameters, salt, iterationCount = defaultIterations, secret, length } = derivation
  requireOnly(parameters, 'PBKDF2', hashNames)
  const hash = resolveHash(parameters, policy, 'SHA_1')
  if (salt === undefined) throw refuse('invalid_input', 'Salt is missing.')
  if (iterationCount < minIterations || iterationCount > maximumIterations)
    throw refuse('invalid_input', `IterationCount must be ${minIterations} to ${maximumIterations}.`)
  // SP 800-132 §5.1 and §5.2.
  if (policy.fips && (salt.length < 16 || iterationCount < 1000 || length < 14))
    throw notSupported(
      'PBKDF2 in FIPS mode requires a salt of at least 16 bytes, 1000 iterations and 112 bits.',
    )
  // One call makes each block of output with all iterations: the product is the work.
  if (Math.ceil(length / hash.bytes) * iterationCount > maximumIterations)
    throw refuse('invalid_input', 'IterationCount is too large for this length.')
  return new Promise((resolve, reject) => {
    pbkdf2(secret, salt, iterationCount, length, hash.node, (error, made) => {
      if (error) reject(error)
      else resolve(made)
    })
  })
}

function deriveByEncryption(derivation: Derivation, policy: AlgorithmPolicy): Buffer {
  const { secret, algorithm, parameters, initializationVector, length } = derivation
  if (algorithm === undefined) throw refuse('invalid_input', 'ENCRYPT requires a symmetric key.')
  // A mode with a tag would have to hide half of its output; the standard's methods are the plain ones.
  const plan = planCipher(algorithm, secret.length, { blockCipherMode: 'CBC', ...parameters }, policy)
  if (plan.tag > 0) throw notSupported(`BlockCipherMode ${plan.mode} is not supported for key derivation.`)
  // The same input must yield the same key: an IV or a padding of random bytes would not.
  if (plan.padding === 'ISO10126')
    throw notSupported('PaddingMethod ISO10126 is not supported for key derivation.')
  const iv = initializationVector ?? (plan.iv[1] === 0 ? undefined : Buffer.alloc(plan.iv[1]))
  const { data } = encryptSymmetric(createSecretKey(secret), plan, {
    data: requireDerivationData(derivation),
    iv,
    aad: undefined,
  })
  return truncate(data, length)
}

type Prf = (data: Uint8Array) => Buffer

function kdf108(derivation: Derivation, policy: AlgorithmPolicy): Buffer {
  const { method, parameters, initializationVector, length } = derivation
  requireOnly(parameters, method, kdfNames)
  const fixed = requireDerivationData(derivation)
  const counterBytes = (parameters.counterLength ?? 32) / 8
  if (![1, 2, 3, 4].includes(counterBytes)) throw notSupported('CounterLength must be 8, 16, 24 or 32.')
  const prf = createPrf(derivation, policy)
  const feedback = method === 'NIST800_108F'
  let chain: Uint8Array = feedback ? (initializationVector ?? new Uint8Array(0)) : fixed
  const blocks: Buffer[] = []
  for (let made = 0, counter = 1; made < length; counter += 1) {
    if (counter >= 2 ** (counterBytes * 8)) throw tooLong()
    const number = Buffer.alloc(counterBytes)
    number.writeUIntBE(counter, 0, counterBytes)
    if (method === 'NIST800_108DPI') chain = prf(chain)
    const block = prf(Buffer.concat(method === 'NIST800_108C' ? [number, fixed] : [chain, number, fixed]))
    if (feedback) chain = block
    blocks.push(block)
    made += block.length
  }
  return truncate(Buffer.concat(blocks), length)
}

function createPrf({ secret, parameters }: Derivation, policy: AlgorithmPolicy): Prf {
  const { blockCipherMode, ...rest } = parameters
  if (blockCipherMode === undefined) {
    const hash = resolveHash(rest, policy)
    return (data) => createHmac(hash.node, secret).update(data).digest()
  }
  const { cryptographicAlgorithm = 'AES', hashingAlgorithm } = rest
  if (blockCipherMode !== 'CMAC' || cryptographicAlgorithm !== 'AES' || hashingAlgorithm !== undefined)
    throw notSupported(`BlockCipherMode ${blockCipherMode} is not supported for key derivation.`)
  if (![16, 24, 32].includes(secret.length))
    throw refuse('wrong_key', 'The size of the key is not allowed for AES.')
  const key = createSecretKey(secret)
  return (data) => computeCmac(`aes-${secret.length * 8}-cbc`, key, data)
}

function awsSigningKey(derivation: Derivation): Buffer {
  requireOnly(derivation.parameters, derivation.method, new Set())
  const scope = Buffer.from(requireDerivationData(derivation)).toString('utf8').split('/')
  if (scope.length !== 4 || scope[3] !== 'aws4_request' || scope.includes(''))
    throw refuse('invalid_input', 'DerivationData must be date/region/service/aws4_request.')
  let key: Buffer = Buffer.concat([Buffer.from('AWS4'), derivation.secret])
  for (const part of scope) {
    const next = createHmac('sha256', key).update(part).digest()
    key.fill(0)
    key = next
  }
  return key
}

const types: ReadonlySet<string> = new Set(['ec', 'x25519', 'x448', 'dh'])

/**
 * The raw shared secret of two keys of one kind: ECDH (SP 800-56A §5.7.1.2), X25519 and X448 (RFC 7748), DH. Points
 * that yield no secret (RFC 7748 §6.1) are refused by OpenSSL.
 * @param other the public key, or a private one whose public half is used
 * @throws invalid_input for keys that do not go together, failed when there is no secret
 */
function agree(own: KeyObject, other: KeyObject, policy: AlgorithmPolicy): Buffer {
  const type = own.asymmetricKeyType ?? ''
  if (own.type !== 'private' || !types.has(type) || other.asymmetricKeyType !== type)
    throw refuse(
      'invalid_input',
      'AsymmetricKey requires a private and a public key of the same kind of key agreement.',
    )
  const curve = own.asymmetricKeyDetails?.namedCurve
  if (curve !== other.asymmetricKeyDetails?.namedCurve)
    throw refuse('invalid_input', 'The keys are on different curves.')
  if (type.startsWith('x')) requireOutsideFips(policy, type.toUpperCase())
  permit(policy, () => ({ algorithms: type === 'ec' ? ['EC', 'ECDH'] : type }))
  try {
    return diffieHellman({
      privateKey: own,
      publicKey: other.type === 'private' ? getPublicHalf(other) : other,
    })
  } catch {
    throw refuse('failed')
  }
}
