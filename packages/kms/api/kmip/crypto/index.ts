/**
 * Cryptography as KMIP asks for it: CryptographicParameters are read into one value (`readParameters`), an algorithm and a
 * key turn them into a plan (`planCipher`, `planRsa`, `planSignature`, `planMac`) or refuse them by name, and the plan is
 * carried out. Pure: no storage, no rights. What the server permits is asked in the plans, of the one policy.
 */
export { isCipher } from './cipher-families.ts'
export { type CipherPlan, planCipher } from './cipher-plan.ts'
export { type Derivation, type DerivationMethod, deriveKey } from './derive-key.ts'
export { chosenHash, digest, type HashAlgorithm, type HashName, hashAlgorithm } from './hashes.ts'
export { encapsulateFor, isKemKey, openEncapsulation, requireKem } from './kem.ts'
export type { AlgorithmName, KeyInUse } from './key-in-use.ts'
export { type MacPlan, macIsRight, macOf, planMac } from './mac.ts'
export { type CryptographicParameters, noParameters, readParameters } from './parameters.ts'
export {
  decryptRsa,
  encryptRsa,
  joseEncryption,
  modulusBits,
  planRsa,
  type RsaPlan,
} from './rsa-encryption.ts'
export { signWith, type ToSign, verifyWith } from './signature.ts'
export { joseSignature, planSignature, type SignaturePlan } from './signature-plan.ts'
export {
  type CipherStream,
  decryptSymmetric,
  encryptSymmetric,
  openDecryption,
  openEncryption,
} from './symmetric.ts'
