import * as nodeCrypto from 'node:crypto'
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { notSupported, refuse } from './algorithms/failure.ts'
import { type HashAlgorithm, hashAlgorithm } from './algorithms/hashes.ts'
import { hmacHash, joseHmac } from './algorithms/macs.ts'
import { type CryptographicParameters, type ParameterName, requireOnly } from './algorithms/parameters.ts'
import { type AlgorithmPolicy, permit, requireOutsideFips } from './algorithms/policy.ts'
import type { KeyShape } from './material/material.ts'

/** How a key makes MACs. */
export type MacPlan =
  | { readonly kind: 'hmac'; readonly hash: HashAlgorithm }
  /** OpenSSL's name of the cipher. */
  | { readonly kind: 'cmac'; readonly cipher: string }

/** JOSE name (RFC 7518 §3.2). */
export function joseMac(plan: MacPlan): readonly string[] {
  const jose = plan.kind === 'hmac' ? joseHmac(plan.hash.name) : undefined
  return jose === undefined ? [] : [jose]
}

const names: ReadonlySet<ParameterName> = new Set([
  'cryptographicAlgorithm',
  'hashingAlgorithm',
  'blockCipherMode',
])

/**
 * Chooses the MAC: CryptographicAlgorithm names an HMAC, also for a key of a cipher (CS-AC-M-4); else the key's own
 * algorithm does, with HashingAlgorithm if the key does not determine it; a block cipher's key without a hash uses
 * CMAC.
 * @throws CryptoFailure unsupported, bad_parameters for members that contradict each other
 */
export function planMac(
  { algorithm, key }: { readonly algorithm: string; readonly key: KeyShape },
  parameters: CryptographicParameters,
  policy: AlgorithmPolicy,
): MacPlan {
  if (key.type !== 'secret') throw refuse('wrong_key', 'Keys of this type cannot compute MACs.')
  requireOnly(parameters, 'a MAC', names)
  const { cryptographicAlgorithm, hashingAlgorithm, blockCipherMode } = parameters
  const asked = cryptographicAlgorithm ?? algorithm
  if (algorithm !== asked && hmacHash(algorithm) !== undefined)
    throw refuse('bad_parameters', `The key is not a key of ${asked}.`)
  const own = hmacHash(asked)
  if (own !== undefined && hashingAlgorithm !== undefined && own !== hashingAlgorithm)
    throw refuse('bad_parameters', `HashingAlgorithm contradicts ${asked}.`)
  const hash = own ?? hashingAlgorithm
  if (hash !== undefined) {
    if (blockCipherMode !== undefined) throw notSupported('BlockCipherMode has no meaning for HMAC.')
    permit(policy, () => ({ algorithms: `HMAC-${hash}` }))
    return { kind: 'hmac', hash: hashAlgorithm(hash, policy) }
  }
  if (blockCipherMode !== undefined && blockCipherMode !== 'CMAC')
    throw notSupported(`BlockCipherMode ${blockCipherMode} is not supported for MACs.`)
  if (cryptographicAlgorithm !== undefined && cryptographicAlgorithm !== algorithm)
    throw refuse('bad_parameters', `The key is not a key of ${cryptographicAlgorithm}.`)
  const cipher = cmacCipher(algorithm, key.symmetricKeySize ?? 0)
  if (cipher === undefined) throw notSupported(`MACs with ${algorithm} require a HashingAlgorithm.`)
  if (algorithm !== 'AES') requireOutsideFips(policy, `CMAC with ${algorithm}`)
  permit(policy, () => ({
    algorithms: algorithm,
    ...(algorithm === 'AES' && { aes_key_sizes: String((key.symmetricKeySize ?? 0) * 8) }),
  }))
  return { kind: 'cmac', cipher }
}

function cmacCipher(algorithm: string, bytes: number): string | undefined {
  const bits = [16, 24, 32].includes(bytes) ? bytes * 8 : undefined
  if (algorithm === 'AES' && bits !== undefined) return `aes-${bits}-cbc`
  if (algorithm === 'DES3' && bytes === 24) return 'des-ede3-cbc'
  if (algorithm === 'Camellia' && bits !== undefined) return `camellia-${bits}-cbc`
  if (algorithm === 'ARIA' && bits !== undefined) return `aria-${bits}-cbc`
  return undefined
}

/** The whole MAC of `data`. */
export function computeMac(key: KeyObject, plan: MacPlan, data: Uint8Array): Buffer {
  if (plan.kind === 'cmac') return computeCmac(plan.cipher, key, data)
  return hmacCompute(plan.hash.node, key, data)
}

/** HMAC (RFC 2104) over `data`; the whole tag. @param hash node's name */
export function hmacCompute(hash: string, key: KeyObject, data: Uint8Array): Buffer {
  return createHmac(hash, key).update(data).digest()
}

/** Compares in constant time; the length is no secret. */
export function sameTag(expected: Uint8Array, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given)
}

/** `createMac` of Node 26, which its published types do not have yet. */
interface MacModule {
  createMac(
    name: 'cmac' | 'kmac-256',
    key: KeyObject,
    options: { readonly cipher: string } | { readonly outputLength: number },
  ): { update(data: Uint8Array): void; final(): Buffer }
}

/** CMAC (SP 800-38B) of `data`. @param cipher OpenSSL's name of the block cipher in CBC mode */
export function computeCmac(cipher: string, key: KeyObject, data: Uint8Array): Buffer {
  const mac = (nodeCrypto as unknown as MacModule).createMac('cmac', key, { cipher })
  mac.update(data)
  return mac.final()
}

/** KMAC256 (SP 800-185 §4) without a customization string. @param bytes of output */
export function kmac256(key: Uint8Array, data: Uint8Array, bytes: number): Buffer {
  const mac = (nodeCrypto as unknown as MacModule).createMac('kmac-256', createSecretKey(key), {
    outputLength: bytes,
  })
  mac.update(data)
  return mac.final()
}
