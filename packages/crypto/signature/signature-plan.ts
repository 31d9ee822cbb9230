import { notSupported, refuse } from '../algorithms/failure.ts'
import {
  type HashAlgorithm,
  type HashName,
  hashAlgorithm,
  hashOfLength,
  signatureHash,
} from '../algorithms/hashes.ts'
import { curves } from '../algorithms/key-types.ts'
import { type CryptographicParameters, type ParameterName, requireOnly } from '../algorithms/parameters.ts'
import { type AlgorithmPolicy, permit, requireOutsideFips } from '../algorithms/policy.ts'
import {
  findJoseName,
  hashedSignatures,
  type PureSignature,
  pureSignatures,
  type Scheme,
  type SignaturePlan,
} from '../algorithms/signatures.ts'
import type { KeyShape } from '../material/material.ts'

/** A name that several rows share does not determine the hash. */
const named = new Map<string, { readonly scheme: Scheme; readonly hash: HashName | undefined }>()
for (const { kmip, scheme, hash } of hashedSignatures)
  if (kmip !== undefined) named.set(kmip, { scheme, hash: named.has(kmip) ? undefined : hash })

interface Family {
  /** Names of the keys in CryptographicAlgorithm. */
  readonly names: readonly string[]
  readonly schemes: readonly Scheme[]
  /** The row, for keys with only one signature scheme. */
  readonly pure?: PureSignature
}

/** By node's name of the type of key. */
const families: ReadonlyMap<string, Family> = new Map<string, Family>([
  ['rsa', { names: ['RSA'], schemes: ['pss', 'pkcs1'] }],
  ['ec', { names: ['ECDSA', 'EC'], schemes: ['ecdsa'] }],
  ['dsa', { names: ['DSA'], schemes: ['dsa'] }],
  ...pureSignatures.map((pure) => [pure.key, { names: pure.kmip, schemes: ['pure'], pure }] as const),
])

const base = ['cryptographicAlgorithm', 'digitalSignatureAlgorithm'] as const
const parametersByScheme: Readonly<Record<Scheme, ReadonlySet<ParameterName>>> = {
  pure: new Set(base),
  ecdsa: new Set([...base, 'hashingAlgorithm']),
  dsa: new Set([...base, 'hashingAlgorithm']),
  pkcs1: new Set([...base, 'hashingAlgorithm', 'paddingMethod']),
  pss: new Set([
    ...base,
    ...([
      'hashingAlgorithm',
      'paddingMethod',
      'saltLength',
      'maskGenerator',
      'maskGeneratorHashingAlgorithm',
      'trailerField',
    ] as const),
  ]),
}

/**
 * Chooses how to sign or verify. The defaults are PSS with SHA-256 for RSA and ECDSA with SHA-256 for EC; other types
 * have only one scheme. If a digest comes without the name of its hash, its length determines the hash.
 * @param use FIPS mode verifies some signatures that it does not create (SP 800-131A §3)
 * @param digestBytes length of the digest if the client computed the hash
 * @throws CryptoFailure unsupported, bad_parameters for members that contradict each other
 */
export function planSignature(
  key: KeyShape,
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
  use: 'sign' | 'verify',
  digestBytes?: number,
): SignaturePlan {
  const type = key.asymmetricKeyType ?? ''
  const family = families.get(type)
  if (family === undefined) throw refuse('wrong_key', 'Keys of this type cannot sign.')
  const { cryptographicAlgorithm: algorithm, digitalSignatureAlgorithm } = parameters
  if (algorithm !== undefined && !family.names.includes(algorithm))
    throw refuse('bad_parameters', `The key is not a key of ${algorithm}.`)
  const asked = digitalSignatureAlgorithm === undefined ? undefined : named.get(digitalSignatureAlgorithm)
  if (digitalSignatureAlgorithm !== undefined && asked === undefined)
    throw notSupported(`DigitalSignatureAlgorithm ${digitalSignatureAlgorithm} is not supported.`)
  const scheme = resolveScheme(parameters, asked?.scheme, family.schemes)
  requireOnly(
    parameters,
    scheme === 'pure' ? String(family.names[0]) : scheme.toUpperCase(),
    parametersByScheme[scheme],
  )
  requireFips(key, type, policy, use)
  if (scheme === 'pure') {
    // RFC 8032 §5.1 and FIPS 204 §5.4 define the variants that sign a digest (Ed25519ph, HashML-DSA) as different
    // algorithms, which KMIP cannot name. A signature over the digest as data could not be verified against the data.
    if (digestBytes !== undefined)
      throw notSupported(
        `${family.names[0]} signs Data, not DigestedData: KMIP defines no pre-hash variant of it.`,
      )
    permit(policy, () => ({ signature_algorithms: pureNames(family) }))
    return { scheme }
  }
  if (scheme === 'ecdsa' && digestBytes !== undefined && tellsNoHash(parameters, asked?.hash, digestBytes))
    return planDigest(policy, use)
  const hash = chooseHash(parameters, asked?.hash, digestBytes, policy, use)
  permit(policy, () => ({ signature_algorithms: policyNames(scheme, hash) }))
  if (scheme !== 'pss') {
    if (type === 'rsa') permit(policy, () => ({ padding_methods: ['PKCS1v15', 'PKCS1V1_5'] }))
    return { scheme, hash }
  }
  const { trailerField = 1, saltLength } = parameters
  if (trailerField !== 1) throw notSupported('TrailerField must be 1.')
  const maskHash = hashAlgorithm(parameters.maskGeneratorHashingAlgorithm ?? hash.name, policy)
  permit(policy, () => ({ padding_methods: 'PSS', mgf_hashes: maskHash.name, mask_generators: 'MGF1' }))
  return { scheme, hash, maskHash, saltLength }
}

/** Whether neither a name nor the length of the digest determines a hash. */
function tellsNoHash(
  { hashingAlgorithm }: CryptographicParameters,
  asked: HashName | undefined,
  digestBytes: number,
): boolean {
  return (
    digestBytes > 0 &&
    asked === undefined &&
    hashingAlgorithm === undefined &&
    hashOfLength(digestBytes) === undefined
  )
}

/**
 * ECDSA signs the leftmost bits of a digest of any hash (FIPS 186-5 §6.4.1, step 2), so a digest of any length does not
 * need the name of its hash. FIPS mode restricts the hashes and therefore requires the name.
 */
function planDigest(policy: AlgorithmPolicy, use: 'sign' | 'verify'): SignaturePlan {
  if (policy.fips) throw notSupported('In FIPS mode DigestedData requires HashingAlgorithm.')
  const name = 'SHA_256'
  const hash = use === 'sign' ? signatureHash(name, policy) : hashAlgorithm(name, policy)
  permit(policy, () => ({ signature_algorithms: policyNames('ecdsa', hash) }))
  return { scheme: 'ecdsa', hash, unnamed: true }
}

function resolveScheme(
  { paddingMethod }: CryptographicParameters,
  asked: Scheme | undefined,
  possible: readonly Scheme[],
): Scheme {
  const padded = paddingMethod === 'PSS' ? 'pss' : paddingMethod === 'PKCS1V1_5' ? 'pkcs1' : undefined
  if (paddingMethod !== undefined && padded === undefined)
    throw notSupported(`PaddingMethod ${paddingMethod} is not supported for signatures.`)
  if (asked !== undefined && padded !== undefined && asked !== padded)
    throw refuse('bad_parameters', 'PaddingMethod and DigitalSignatureAlgorithm contradict each other.')
  const chosen = asked ?? padded ?? (possible[0] as Scheme)
  if (!possible.includes(chosen))
    throw refuse('bad_parameters', 'The type of the key does not match the signature algorithm.')
  return chosen
}

function chooseHash(
  { hashingAlgorithm }: CryptographicParameters,
  asked: HashName | undefined,
  digestBytes: number | undefined,
  policy: AlgorithmPolicy,
  use: 'sign' | 'verify',
): HashAlgorithm {
  if (asked !== undefined && hashingAlgorithm !== undefined && asked !== hashingAlgorithm)
    throw refuse('bad_parameters', 'HashingAlgorithm and DigitalSignatureAlgorithm contradict each other.')
  const told = digestBytes === undefined ? undefined : hashOfLength(digestBytes)
  if (
    digestBytes !== undefined &&
    asked === undefined &&
    hashingAlgorithm === undefined &&
    told === undefined
  )
    throw refuse(
      'invalid_input',
      `The length of DigestedData, ${digestBytes} bytes, does not determine the hash: set HashingAlgorithm.`,
    )
  const name = asked ?? hashingAlgorithm ?? told ?? 'SHA_256'
  const hash = use === 'sign' ? signatureHash(name, policy) : hashAlgorithm(name, policy)
  if (digestBytes !== undefined && hash.bytes !== digestBytes)
    throw refuse('invalid_input', `DigestedData is not a digest of ${name}.`)
  return hash
}

/** Names in policies: KMIP's name and, if there is one, that of JOSE. */
function policyNames(scheme: Scheme, { name }: HashAlgorithm): readonly string[] {
  const jose = findJoseName(scheme, name)
  const kmip =
    scheme === 'pss'
      ? 'RSASSA-PSS'
      : scheme === 'ecdsa'
        ? `ECDSAWith${name}`
        : scheme === 'dsa'
          ? `DSAWith${name}`
          : `${name}WithRSAEncryption`
  return jose === undefined ? [kmip] : [kmip, jose]
}

function pureNames({ names, pure }: Family): readonly string[] {
  return pure?.jose === undefined ? [String(names[0])] : [String(names[0]), pure.jose]
}

/** JOSE name (RFC 7518 §3.1, RFC 8037, RFC 8812, RFC 9964). */
export function joseSignature(key: KeyShape, plan: SignaturePlan): readonly string[] {
  if (plan.scheme === 'pure') {
    const jose = families.get(key.asymmetricKeyType ?? '')?.pure?.jose
    return jose === undefined ? [] : [jose]
  }
  if (plan.scheme === 'ecdsa') return plan.unnamed === true ? [] : joseEcdsa(key, plan.hash)
  if (plan.scheme === 'pss' && (plan.saltLength ?? plan.hash.bytes) !== plan.hash.bytes) return []
  if (plan.scheme === 'pss' && plan.maskHash.name !== plan.hash.name) return []
  return policyNames(plan.scheme, plan.hash)
}

/** JOSE binds a curve to each hash. */
function joseEcdsa({ asymmetricKeyDetails }: KeyShape, { name }: HashAlgorithm): readonly string[] {
  const named = asymmetricKeyDetails?.namedCurve
  return hashedSignatures.flatMap(({ hash, curve = '', jose }) =>
    jose !== undefined && hash === name && curves[curve]?.name === named ? [jose] : [],
  )
}

function requireFips(key: KeyShape, type: string, policy: AlgorithmPolicy, use: 'sign' | 'verify'): void {
  if (!policy.fips) return
  if (type === 'rsa') {
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < (use === 'sign' ? 2048 : 1024))
      throw notSupported('RSA below 2048 bits is not available in FIPS mode.')
  } else if (type !== 'ec') requireOutsideFips(policy, type)
}
