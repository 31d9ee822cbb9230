import { failure } from '@warder/base'
import { families } from './ciphers.ts'
import { type HashAlgorithm, type HashName, hashes } from './hashes.ts'
import {
  type KeyManagementRow,
  type KeyManagementWay,
  keyManagements,
  type OaepHash,
  rsaEncryptions,
} from './key-managements.ts'
import { type KeyType, keyTypes, type MaterialAlgorithm } from './key-types.ts'
import { hmacs } from './macs.ts'
import { type AlgorithmPolicy, type PolicyFacts, requirePermitted } from './policy.ts'
import {
  type HashedSignature,
  hashedSignatures,
  type PureSignature,
  pureSignatures,
  type SignaturePlan,
  toJosePlan,
} from './signatures.ts'

/** node's names. */
export type HmacHash = 'sha256' | 'sha384' | 'sha512'

interface Common {
  readonly kty: KeyType
  readonly material: MaterialAlgorithm
  /** All key materials that the algorithm works with, `material` among them; absent = only that one. */
  readonly materials?: readonly MaterialAlgorithm[]
  /** false: not in FIPS builds. */
  readonly fips: boolean
  /** true: available only if the settings allow it. */
  readonly optional?: true
}

export type SignatureAlgorithm = Common & {
  readonly use: 'signature'
  readonly plan: SignaturePlan
  /** JOSE's name of the one curve, of ECDSA. */
  readonly curve?: string
}
/** RSA-OAEP, which the interface has for every content key. */
export type KeyManagementAlgorithm = Common & { readonly use: 'key management'; readonly oaepHash: OaepHash }
/** The others, for encrypt and decrypt alone. */
export type OtherKeyManagement = Common & { readonly use: 'other key management' } & KeyManagementWay
export type ContentEncryption = Common & {
  readonly use: 'content encryption'
  readonly bits: number
}
export type MacAlgorithm = Common & {
  readonly use: 'mac'
  readonly hash: HmacHash
  readonly plan: { readonly kind: 'hmac'; readonly hash: HashAlgorithm }
  readonly bits: 256 | 384 | 512
}
export type Algorithm =
  | SignatureAlgorithm
  | KeyManagementAlgorithm
  | OtherKeyManagement
  | ContentEncryption
  | MacAlgorithm

const rsa = { kty: 'RSA', material: 'RSA', fips: true } as const
const gcm = (bits: number): ContentEncryption => ({
  kty: 'oct',
  material: 'AES',
  fips: true,
  use: 'content encryption',
  bits,
})
function hmac(hash: HashName, bits: MacAlgorithm['bits']): MacAlgorithm {
  const known = hashes.get(hash) as HashAlgorithm
  const plan = { kind: 'hmac', hash: known } as const
  return { kty: 'oct', material: 'HMAC', fips: true, use: 'mac', hash: known.node as HmacHash, plan, bits }
}

function toSignatureAlgorithm(row: HashedSignature): SignatureAlgorithm {
  const common = { fips: true, use: 'signature', plan: toJosePlan(row) } as const
  const { curve } = row
  if (curve === undefined) return { ...rsa, ...common }
  const ec = { kty: 'EC', material: 'EC', ...common, curve } as const
  return row.optional ? { ...ec, fips: false, optional: true } : ec
}

function keyManagement({ jose: _name, ...row }: KeyManagementRow): OtherKeyManagement {
  const [material] = row.materials
  return { ...row, kty: keyTypes[material].kty, material, use: 'other key management' }
}

function pureSignature(material: MaterialAlgorithm, { scheme }: PureSignature): SignatureAlgorithm {
  return { kty: keyTypes[material].kty, material, fips: false, use: 'signature', plan: { scheme } }
}

/** The closed table of JOSE names (RFC 7518, RFC 8037, RFC 9964): all others are not supported. */
export const algorithms: Readonly<Record<string, Algorithm>> = Object.freeze({
  __proto__: null as never,
  ...Object.fromEntries(
    rsaEncryptions.map(({ jose, hash }) => [jose, { ...rsa, use: 'key management', oaepHash: hash }]),
  ),
  ...Object.fromEntries(keyManagements.map((row) => [row.jose, keyManagement(row)])),
  ...Object.fromEntries(
    Object.entries(families.AES?.jose ?? {}).map(([bytes, jose]) => [jose, gcm(Number(bytes) * 8)]),
  ),
  ...Object.fromEntries(
    hashedSignatures.flatMap((row) =>
      row.jose === undefined ? [] : [[row.jose, toSignatureAlgorithm(row)]],
    ),
  ),
  ...Object.fromEntries(
    pureSignatures.flatMap((row) =>
      row.jose === undefined || row.material === undefined
        ? []
        : [[row.jose, pureSignature(row.material, row)]],
    ),
  ),
  ...Object.fromEntries(
    hmacs.flatMap(({ hash, jose }) => (jose === undefined ? [] : [[jose.name, hmac(hash, jose.bits)]])),
  ),
})

/** Keys of kty AKP are called by their algorithm, which requests write as FIPS 204 does, too. */
const aliases: ReadonlyMap<string, string> = new Map(
  pureSignatures.flatMap(({ material, jose }) =>
    material !== undefined && jose !== undefined && keyTypes[material].kty === 'AKP'
      ? [[material, jose] as const]
      : [],
  ),
)

/** One name for each algorithm: `ML-DSA-44` is `MLDSA44`. */
export function canonicalName(name: string): string {
  return aliases.get(name) ?? name
}

/**
 * The algorithm of this name for this use. Refuses algorithms that FIPS builds do not have or that the policy, which
 * REST and KMIP share, does not permit.
 * @throws failure('unsupported_algorithm')
 */
export function algorithmFor<Use extends Algorithm['use']>(
  use: Use,
  name: string,
  policy: AlgorithmPolicy,
): Extract<Algorithm, { readonly use: Use }> {
  const found = algorithms[canonicalName(name)]
  if (found === undefined || found.use !== use || !isServed(canonicalName(name), found, policy))
    throw algorithmNotSupported(use, name)
  if (policy.lists !== undefined) requirePermitted(policy, toFacts(canonicalName(name), found))
  return found as Extract<Algorithm, { readonly use: Use }>
}

/** Whether this server supports the algorithm, by its build and settings. The policy is checked separately. */
export function isServed(name: string, algorithm: Algorithm, policy: AlgorithmPolicy): boolean {
  if (policy.fips && !algorithm.fips) return false
  return algorithm.optional !== true || policy.opened?.has(name) === true
}

/** Names of those that are served without a setting, for documents. */
export function algorithmNames(use: Algorithm['use']): readonly string[] {
  return Object.entries(algorithms)
    .filter(([, row]) => row.use === use && row.optional !== true)
    .map(([name]) => name)
}

/** Names of those that are available only if the settings allow them. */
export const optionalAlgorithms: readonly string[] = Object.entries(algorithms)
  .filter(([, { optional }]) => optional === true)
  .map(([name]) => name)

/** Does a key of this type do it? */
export function isForMaterial(algorithm: Algorithm, material: MaterialAlgorithm): boolean {
  return algorithm.material === material || algorithm.materials?.includes(material) === true
}

/** @throws failure('unsupported_algorithm') when a key must not be bound to this algorithm */
export function requireAlgorithmPermitted(name: string, policy: AlgorithmPolicy): void {
  const found = algorithms[canonicalName(name)]
  if (found !== undefined && policy.lists !== undefined) requirePermitted(policy, toFacts(name, found))
}

/** Facts for the policy about an algorithm, in the names of KMIP 2.1 §11. */
function toFacts(name: string, algorithm: Algorithm): PolicyFacts {
  switch (algorithm.use) {
    case 'content encryption':
      return { algorithms: 'AES', block_cipher_modes: 'GCM', aes_key_sizes: String(algorithm.bits) }
    case 'mac':
      return { algorithms: `HMAC-${algorithm.hash}`, hashes: algorithm.hash }
    case 'key management':
      return {
        algorithms: 'RSA',
        padding_methods: 'OAEP',
        hashes: algorithm.oaepHash,
        mgf_hashes: algorithm.oaepHash,
        mask_generators: 'MGF1',
      }
    case 'other key management':
      return keyManagementFacts(algorithm)
    case 'signature':
      return signatureFacts(name, algorithm)
  }
}

function keyManagementFacts(algorithm: OtherKeyManagement): PolicyFacts {
  switch (algorithm.way) {
    case 'key wrap':
      return { algorithms: 'AES', block_cipher_modes: 'NISTKeyWrap', aes_key_sizes: String(algorithm.bits) }
    case 'gcm key wrap':
      return { algorithms: 'AES', block_cipher_modes: 'GCM', aes_key_sizes: String(algorithm.bits) }
    case 'agreement':
      return { algorithms: ['EC', 'ECDH', 'X25519'], hashes: 'SHA-256', ...wrapFacts(algorithm.wrapBits) }
    case 'encapsulation':
      return { algorithms: algorithm.material, ...wrapFacts(algorithm.wrapBits) }
  }
}

function wrapFacts(bits: number | undefined): PolicyFacts {
  return bits === undefined ? {} : { block_cipher_modes: 'NISTKeyWrap', aes_key_sizes: String(bits) }
}

function signatureFacts(name: string, { plan, curve, material }: SignatureAlgorithm): PolicyFacts {
  switch (plan.scheme) {
    case 'pkcs1':
      return {
        algorithms: 'RSA',
        hashes: plan.hash.node,
        signature_algorithms: [name, `${plan.hash.node}WithRSAEncryption`],
        padding_methods: ['PKCS1v15', 'PKCS1v1.5'],
      }
    case 'pss':
      return {
        algorithms: 'RSA',
        hashes: plan.hash.node,
        signature_algorithms: [name, 'RSASSA-PSS'],
        padding_methods: 'PSS',
        mgf_hashes: plan.maskHash.node,
        mask_generators: 'MGF1',
      }
    case 'ecdsa':
      return {
        algorithms: 'EC',
        hashes: plan.hash.node,
        signature_algorithms: [name, `ECDSAWith${plan.hash.node}`],
        ...(curve !== undefined && { curves: curve }),
      }
    default:
      return { algorithms: material, signature_algorithms: [name, material] }
  }
}

const what: Readonly<Record<Algorithm['use'], string>> = {
  signature: 'signature algorithm',
  'key management': 'key management algorithm',
  'other key management': 'key management algorithm',
  'content encryption': 'content encryption',
  mac: 'MAC algorithm',
}

function algorithmNotSupported(use: Algorithm['use'], name: string) {
  return failure('unsupported_algorithm', `'${name.slice(0, 64)}' is not a supported ${what[use]}.`)
}

/** JWK `key_ops` (RFC 7517 §4.3) of a key that is bound to this algorithm, or of any key of this type. */
export function toKeyOps(name: string | undefined): readonly string[] {
  const use = name === undefined ? 'signature' : algorithms[canonicalName(name)]?.use
  return use === 'signature' || use === 'mac' ? ['sign', 'verify'] : ['encrypt', 'decrypt']
}
