import { StartupError } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import { algorithmPolicy, optionalAlgorithms, type PolicyFacts, policyLists } from '@warder/crypto/settings'
import { choice, list } from '@warder/runtime/settings'

const everything = ['*'] as const

function allowList(what: string) {
  return list({
    default: everything,
    docs: `With \`kmip.policy_id\` CUSTOM: ${what}. \`*\` = all, empty = none.`,
  })
}

const digits = (sizes: readonly string[]): string | undefined =>
  sizes.every((size) => size === '*' || /^[1-9][0-9]{1,4}$/.test(size))
    ? undefined
    : 'must contain numbers of bits'

/** Settings of the permitted algorithms, for requests of REST and KMIP and for stored keys. */
export const algorithmSettings = {
  jose_optional_algorithms: list({
    default: [],
    check: (names) => {
      const unknown = names.find((name) => !optionalAlgorithms.includes(name))
      return unknown === undefined ? undefined : `must contain names of ${optionalAlgorithms.join(', ')}`
    },
    docs: `JOSE algorithms that are supported only if they are listed here: ${optionalAlgorithms.join(', ')}. A128KW and ECDH-ES are not part of the interface, ML-KEM is a draft (draft-ietf-jose-pqc-kem), ES256K uses a curve that SP 800-186 does not recommend. The policy applies as well.`,
  }),
  'kmip.policy_id': choice({
    default: 'NONE',
    choices: ['NONE', 'DEFAULT', 'CUSTOM'],
    env: 'KMS_POLICY_ID',
    docs: 'Algorithms that REST and KMIP permit. NONE: all supported ones. DEFAULT: those recommended for new applications (no RSA below 3072 bits, no PKCS#1 v1.5, no SHA-1). CUSTOM: those in the lists.',
  }),
  'kmip.allowlists.algorithms': allowList('AES, RSA, EC, HMAC, Ed25519, ML-DSA-44 …'),
  'kmip.allowlists.hashes': allowList('SHA-256 … SHA-1 (of RSA-OAEP)'),
  'kmip.allowlists.signature_algorithms': allowList('JOSE names (ES256) or KMIP names (ECDSAWithSHA256)'),
  'kmip.allowlists.curves': allowList('P-256, P-384, P-521, Ed25519 …'),
  'kmip.allowlists.block_cipher_modes': allowList('GCM, NISTKeyWrap …'),
  'kmip.allowlists.padding_methods': allowList('OAEP, PSS, PKCS1v15, PKCS5 …'),
  'kmip.allowlists.mgf_hashes': allowList('hashes of MGF1, in OAEP and PSS'),
  'kmip.allowlists.mask_generators': allowList('MGF1'),
  'kmip.allowlists.rsa_key_sizes': { ...allowList('bits, 2048 to 8192'), check: digits },
  'kmip.allowlists.aes_key_sizes': { ...allowList('128, 192, 256'), check: digits },
} as const

type ListSettings = { readonly [List in keyof PolicyFacts as `kmip.allowlists.${List}`]-?: readonly string[] }
export type AlgorithmConfig = ListSettings & {
  readonly fips: boolean
  readonly jose_optional_algorithms: readonly string[]
  readonly 'kmip.policy_id': 'NONE' | 'DEFAULT' | 'CUSTOM'
}

/** @throws StartupError for lists that the policy would ignore */
export function configuredPolicy(config: AlgorithmConfig): AlgorithmPolicy {
  const lists = Object.fromEntries(
    policyLists.map((name) => [name, config[`kmip.allowlists.${name}`]] as const),
  ) as Record<(typeof policyLists)[number], readonly string[]>
  const id = config['kmip.policy_id']
  if (id !== 'CUSTOM') {
    const idle = policyLists.find((name) => !lists[name].includes('*'))
    if (idle !== undefined) {
      throw new StartupError(
        `kmip.allowlists.${idle} has no effect while kmip.policy_id is ${id}: set kmip.policy_id to CUSTOM, or remove the list`,
      )
    }
  }
  return algorithmPolicy({ fips: config.fips, id, lists, opened: config.jose_optional_algorithms })
}
