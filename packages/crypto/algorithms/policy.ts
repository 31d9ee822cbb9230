import { failure } from '@warder/base'
import { notSupported } from './failure.ts'
import { keyTypes } from './key-types.ts'

/** The lists of a policy, and the term for their entries. */
const what = {
  algorithms: 'algorithm',
  hashes: 'hash',
  signature_algorithms: 'signature algorithm',
  curves: 'curve',
  block_cipher_modes: 'block cipher mode',
  padding_methods: 'padding',
  mgf_hashes: 'hash of the mask generator',
  mask_generators: 'mask generator',
  rsa_key_sizes: 'size of an RSA key',
  aes_key_sizes: 'size of an AES key',
} as const
export type PolicyList = keyof typeof what
export const policyLists = Object.keys(what) as readonly PolicyList[]

/** Algorithms that an operation wants to use, in names of KMIP or JOSE; several names of one thing are tried one by one. */
export type PolicyFacts = { readonly [List in PolicyList]?: string | readonly string[] }

/** The algorithms that this server permits: one answer for REST and KMIP, for requests and for stored keys. */
export interface AlgorithmPolicy {
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Names as `plainName` writes them. A list that is not there restricts nothing; an empty one permits nothing. */
  readonly lists?: Partial<Readonly<Record<PolicyList, ReadonlySet<string>>>>
  /** JOSE algorithms that are served only because the settings name them. */
  readonly opened?: ReadonlySet<string>
}

/** `DEFAULT`: the recommendations of SP 800-57 and SP 800-131A for new applications. */
export const recommendedNames: Readonly<Record<PolicyList, readonly string[]>> = {
  algorithms: [
    'AES',
    'RSA',
    'EC',
    'Ed25519',
    'Ed448',
    'X25519',
    'X448',
    'ML-DSA-44',
    'ML-DSA-65',
    'ML-DSA-87',
    'HMAC',
  ],
  hashes: ['SHA-256', 'SHA-384', 'SHA-512', 'SHA3-256', 'SHA3-384', 'SHA3-512'],
  signature_algorithms: [
    ...[
      'PS256',
      'PS384',
      'PS512',
      'RSASSA-PSS',
      'ES256',
      'ES384',
      'ES512',
      'EdDSA',
      'MLDSA44',
      'ML-DSA-65',
      'ML-DSA-87',
    ],
    ...['ECDSAWithSHA256', 'ECDSAWithSHA384', 'ECDSAWithSHA512', 'Ed25519', 'Ed448', 'ML-DSA-44'],
  ],
  curves: ['P-256', 'P-384', 'P-521', 'Ed25519', 'Ed448', 'X25519', 'X448', 'Curve25519', 'Curve448'],
  block_cipher_modes: ['GCM', 'CCM', 'GCMSIV', 'XTS', 'NISTKeyWrap', 'AESKeyWrapPadding'],
  padding_methods: ['OAEP', 'PSS', 'PKCS5', 'None'],
  mgf_hashes: ['SHA-256', 'SHA-384', 'SHA-512'],
  mask_generators: ['MGF1'],
  rsa_key_sizes: ['3072', '4096'],
  aes_key_sizes: ['128', '192', '256'],
}

interface PolicyConfig {
  readonly fips: boolean
  readonly id: 'NONE' | 'DEFAULT' | 'CUSTOM'
  /** For `CUSTOM`; a list with `*` restricts nothing. */
  readonly lists: Readonly<Record<PolicyList, readonly string[]>>
  readonly opened?: readonly string[]
}

export function algorithmPolicy({ fips, id, lists, opened = [] }: PolicyConfig): AlgorithmPolicy {
  const base = opened.length === 0 ? { fips } : { fips, opened: new Set(opened) }
  if (id === 'NONE') return base
  const chosen = id === 'DEFAULT' ? recommendedNames : lists
  const sets: Partial<Record<PolicyList, ReadonlySet<string>>> = {}
  for (const name of policyLists) {
    if (!chosen[name].includes('*')) sets[name] = new Set(chosen[name].map(plainName))
  }
  return { ...base, lists: sets }
}

/** One spelling: `SHA-256`, `SHA_256` and `sha256` are the same; ECDSA and ECDH keys are EC keys. */
export function plainName(name: string): string {
  const letters = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return letters === 'ecdsa' || letters === 'ecdh' ? 'ec' : letters
}

/** Names of KMIP and JOSE that FIPS builds do not have (SP 800-140C, SP 800-186), as `plainName` writes them. */
const notFips: ReadonlySet<string> = new Set(
  [
    ...Object.entries(keyTypes).flatMap(([name, row]) => ('seedPrefix' in row ? [name] : [])),
    ...['EdDSA', 'Ed448', 'X448', 'Curve25519', 'Curve448', 'OKP'],
    ...[
      'ChaCha20',
      'ChaCha20Poly1305',
      'DES',
      '3DES',
      'ThreeDES',
      'RC2',
      'RC4',
      'Blowfish',
      'CAST5',
      'IDEA',
      'Camellia',
    ],
    ...['ABE', 'Covercrypt', 'CoverCrypt', 'SECP256K1', 'P-192', 'K-256', 'GCMSIV', 'MD2', 'MD4', 'MD5'],
  ].map(plainName),
)

/** The message that names the forbidden algorithm or size; undefined if everything is permitted. */
export function findRefusal(policy: AlgorithmPolicy, facts: PolicyFacts): string | undefined {
  if (!policy.fips && policy.lists === undefined) return undefined
  for (const list of policyLists) {
    const given = facts[list]
    if (given === undefined) continue
    const names = (typeof given === 'string' ? [given] : given).map(plainName)
    const refused =
      (policy.fips && names.some((name) => notFips.has(name))) || !isListed(policy.lists?.[list], names)
    if (refused) {
      const shown = String(typeof given === 'string' ? given : given[0]).slice(0, 64)
      return `The ${what[list]} '${shown}' is not permitted by the policy of this server.`
    }
  }
  return undefined
}

function isListed(list: ReadonlySet<string> | undefined, names: readonly string[]): boolean {
  if (list === undefined) return true
  return names.some((name) => {
    if (list.has(name)) return true
    // `HMAC` means HMAC with every hash; a key without a hash of its own may be used with the listed ones.
    if (name === 'hmac') return [...list].some((permitted) => permitted.startsWith('hmac'))
    return name.startsWith('hmac') && list.has('hmac')
  })
}

/** @throws failure('unsupported_algorithm') for algorithms that this server does not permit */
export function requirePermitted(policy: AlgorithmPolicy, facts: PolicyFacts): void {
  const refusal = findRefusal(policy, facts)
  if (refusal !== undefined) throw failure('unsupported_algorithm', refusal)
}

/** Facts for the policy about a key, new or stored. `algorithm` as `ManagedObject` has it. */
export function keyFacts(key: {
  readonly algorithm?: string | undefined
  readonly bits?: number | undefined
  readonly curve?: string | undefined
}): PolicyFacts {
  const { algorithm, bits, curve } = key
  return {
    ...(algorithm !== undefined && {
      algorithms: algorithm === 'CoverCrypt' ? ['ABE', 'CoverCrypt'] : algorithm,
    }),
    ...(algorithm === 'Ed25519' && { curves: ['Ed25519', 'Curve25519'] }),
    ...(algorithm === 'X25519' && { curves: ['X25519', 'Curve25519'] }),
    ...(curve !== undefined && { curves: curve }),
    ...(algorithm === 'RSA' && bits !== undefined && { rsa_key_sizes: String(bits) }),
    ...(algorithm === 'AES' && bits !== undefined && { aes_key_sizes: String(bits) }),
  }
}

/** @throws CryptoFailure unsupported in FIPS mode */
export function requireOutsideFips(policy: AlgorithmPolicy, what: string): void {
  if (policy.fips) throw notSupported(`${what} is not available in FIPS mode.`)
}

/** Whether the policy restricts anything. Without lists it does not, and the hot path collects no facts. */
export function permit(policy: AlgorithmPolicy, facts: () => PolicyFacts): void {
  if (policy.lists !== undefined) requirePermitted(policy, facts())
}
