import {
  constants,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto'
import { decryptionFailed, notSupported, refuse } from '../algorithms/failure.ts'
import { hashAlgorithm } from '../algorithms/hashes.ts'
import { type OaepHash, rsaEncryptions } from '../algorithms/key-managements.ts'
import { type CryptographicParameters, type ParameterName, requireOnly } from '../algorithms/parameters.ts'
import { type AlgorithmPolicy, permit, requireOutsideFips } from '../algorithms/policy.ts'
import { getPublicHalf, modulusBits } from '../material/material.ts'
import { joseOaep, type OaepScheme } from './oaep-encoding.ts'
import { oaepDecrypt, oaepEncrypt, type RsaPrivateKey } from './rsa-oaep.ts'

/** How an RSA key encrypts: OAEP, PKCS#1 v1.5, or a fresh AES key under OAEP that wraps data of any length. */
export type RsaPlan =
  | ({ readonly padding: 'OAEP' | 'AES key wrap' } & OaepScheme)
  | { readonly padding: 'PKCS1' }

const oaepNames: ReadonlySet<ParameterName> = new Set([
  'cryptographicAlgorithm',
  'paddingMethod',
  'hashingAlgorithm',
  'maskGenerator',
  'maskGeneratorHashingAlgorithm',
  'pSource',
])
const pkcs1Names: ReadonlySet<ParameterName> = new Set(['cryptographicAlgorithm', 'paddingMethod'])

/**
 * Chooses how to encrypt. The default is OAEP with SHA-256; the mask generator uses the same hash (as the OASIS test
 * cases have it), the label is empty. PaddingMethod None is CKM_RSA_AES_KEY_WRAP of PKCS#11.
 * @throws CryptoFailure unsupported
 */
export function planRsa(bits: number, parameters: CryptographicParameters, policy: AlgorithmPolicy): RsaPlan {
  const { paddingMethod = 'OAEP', cryptographicAlgorithm, hashingAlgorithm = 'SHA_256' } = parameters
  if (cryptographicAlgorithm !== undefined && cryptographicAlgorithm !== 'RSA')
    throw refuse('bad_parameters', `The key is not a key of ${cryptographicAlgorithm}.`)
  if (bits < 2048) requireOutsideFips(policy, 'RSA below 2048 bits')
  permit(policy, () => ({
    algorithms: 'RSA',
    rsa_key_sizes: String(bits),
    padding_methods: paddingMethod === 'PKCS1V1_5' ? ['PKCS1v15', 'PKCS1V1_5'] : paddingMethod,
  }))
  if (paddingMethod === 'PKCS1V1_5') {
    requireOutsideFips(policy, 'RSA encryption with PKCS#1 v1.5')
    requireOnly(parameters, 'PKCS#1 v1.5', pkcs1Names)
    return { padding: 'PKCS1' }
  }
  if (paddingMethod !== 'OAEP' && paddingMethod !== 'None')
    throw notSupported(`PaddingMethod ${paddingMethod} is not supported for encryption.`)
  requireOnly(parameters, 'RSA-OAEP', oaepNames)
  const hash = hashAlgorithm(hashingAlgorithm, policy)
  const maskHash = hashAlgorithm(parameters.maskGeneratorHashingAlgorithm ?? hashingAlgorithm, policy)
  permit(policy, () => ({ mgf_hashes: maskHash.name, mask_generators: 'MGF1' }))
  const label = parameters.pSource ?? new Uint8Array(0)
  return { padding: paddingMethod === 'OAEP' ? 'OAEP' : 'AES key wrap', hash, maskHash, label }
}

/** How JOSE has it (RFC 7518 §4.3): the mask has the hash of the label, which is empty. */
export function oaepPlan({ oaepHash }: { readonly oaepHash: OaepHash }): RsaPlan {
  return { padding: 'OAEP', ...joseOaep[oaepHash] }
}

/** JOSE name (RFC 7518 §4.3): one hash for all, no label. */
export function joseEncryption(plan: RsaPlan): readonly string[] {
  if (plan.padding !== 'OAEP' || plan.label.length > 0 || plan.hash.name !== plan.maskHash.name) return []
  return rsaEncryptions.flatMap(({ jose, hash }) => (hash === plan.hash.name ? [jose] : []))
}

/** Encrypts for an RSA key; of a private key its public half is used. @throws invalid_input for data that is too long */
export function encryptRsa(key: KeyObject, plan: RsaPlan, data: Uint8Array): Buffer {
  const open = key.type === 'private' ? getPublicHalf(key) : key
  const bytes = Math.ceil(modulusBits(open) / 8)
  switch (plan.padding) {
    case 'PKCS1':
      if (data.length > bytes - 11)
        throw refuse('invalid_input', `Data is too large: the maximum for this key is ${bytes - 11} bytes.`)
      return publicEncrypt({ key: open, padding: constants.RSA_PKCS1_PADDING }, data)
    case 'OAEP':
      return oaepEncrypt(plan, open, data)
    case 'AES key wrap': {
      if (data.length === 0) throw refuse('invalid_input', 'Data is empty.')
      const secret = randomBytes(32)
      const cipher = createCipheriv('aes-256-wrap-pad', createSecretKey(secret), wrapIv)
      const wrapped = Buffer.concat([oaepEncrypt(plan, open, secret), cipher.update(data), cipher.final()])
      secret.fill(0)
      return wrapped
    }
  }
}

/**
 * Decrypts. OAEP runs on the thread pool and has only one error; PKCS#1 v1.5 returns pseudorandom bytes for invalid
 * ciphertexts (implicit rejection by OpenSSL), so that there is no error to exploit.
 * @throws decryption_failed
 */
export async function decryptRsa(
  key: KeyObject | RsaPrivateKey,
  plan: RsaPlan,
  data: Uint8Array,
): Promise<Buffer> {
  const bytes = 'open' in key ? key.rejection.modulusLess1.length : Math.ceil(modulusBits(key) / 8)
  switch (plan.padding) {
    case 'PKCS1':
      if ('open' in key)
        throw notSupported('RSA encryption with PKCS#1 v1.5 is not supported for a key in an HSM: use OAEP.')
      if (data.length !== bytes) throw decryptionFailed()
      try {
        return privateDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, data)
      } catch {
        throw decryptionFailed()
      }
    case 'OAEP':
      return oaepDecrypt(plan, key, data)
    case 'AES key wrap': {
      const secret = await oaepDecrypt(plan, key, data.subarray(0, bytes))
      try {
        if (secret.length !== 32) throw decryptionFailed()
        const decipher = createDecipheriv('aes-256-wrap-pad', createSecretKey(secret), wrapIv)
        return Buffer.concat([decipher.update(data.subarray(bytes)), decipher.final()])
      } catch {
        throw decryptionFailed()
      } finally {
        secret.fill(0)
      }
    }
  }
}

/** RFC 5649 §3. */
const wrapIv = Buffer.from('a65959a6', 'hex')
