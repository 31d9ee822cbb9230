/**
 * Cryptography for every front end, independent of protocols, storage and rights. A name and parameters become a plan
 * (`algorithmFor`, `planCipher`, `planSignature`, `planMac`, `planRsa`), checked against the shared policy, or are
 * refused by name; then the plan is executed. Errors are a CryptoFailure or a Failure.
 */
export {
  type Algorithm,
  algorithmFor,
  algorithmNames,
  algorithms,
  type ContentEncryption,
  canonicalName,
  type HmacHash,
  isForMaterial,
  type KeyManagementAlgorithm,
  type MacAlgorithm,
  type OtherKeyManagement,
  optionalAlgorithms,
  type SignatureAlgorithm,
  toKeyOps,
} from './algorithms/algorithms.ts'
export { isCipher } from './algorithms/ciphers.ts'
export { CryptoFailure, type CryptoFailureCode, refuse } from './algorithms/failure.ts'
export { isFipsSymmetric } from './algorithms/fips-symmetric.ts'
export { digest, type HashAlgorithm, type HashName, requireHash } from './algorithms/hashes.ts'
export {
  ecdhCurves,
  type KeyType,
  keyTypes,
  type MaterialAlgorithm,
  slhDsaBits,
} from './algorithms/key-types.ts'
export { hmacs } from './algorithms/macs.ts'
export {
  type CryptographicParameters,
  noParameters,
  type ParameterName,
  requireOnly,
  spelling,
} from './algorithms/parameters.ts'
export {
  type AlgorithmPolicy,
  algorithmPolicy,
  findRefusal,
  keyFacts,
  type PolicyFacts,
  type PolicyList,
  plainName,
  policyLists,
  recommendedNames,
  requirePermitted,
} from './algorithms/policy.ts'
export type { OaepHash } from './algorithms/rsa-encryptions.ts'
export type { SignaturePlan } from './algorithms/signatures.ts'
export { type CipherPlan, joseCipher, joseTagBytes, planCipher } from './cipher/cipher-plan.ts'
export { type EncryptionChoice, whyDecryptionEncrypts, whyEncryptionDecrypts } from './cipher/inverse.ts'
export { maximumStreamBytes } from './cipher/stream-limits.ts'
export {
  type CipherInput,
  type CipherStream,
  decryptSymmetric,
  type Encrypted,
  encryptSymmetric,
  openDecryption,
  openEncryption,
  type PlainInput,
} from './cipher/symmetric.ts'
export { concatKdf, counter, lengthAnd } from './derivation/concat-kdf.ts'
export { type Derivation, type DerivationMethod, deriveKey, joseDerivation } from './derivation/derive-key.ts'
export { deriveHmacKey } from './derivation/hmac-key.ts'
export { encapsulateFor, isKemKey, openEncapsulation, requireKem } from './kem/kem.ts'
export { sameTag } from './mac/hmac.ts'
export { kmac256 } from './mac/kmac.ts'
export { computeMac, joseMac, type MacPlan, planMac } from './mac/mac.ts'
export { generateEc, generateRsa, generateSecret } from './material/generate.ts'
export { generateKey, generateQuantumSafe, quantumSafeBits } from './material/generate-key.ts'
export { countUnfinishedGenerations, inGenerationQueue } from './material/generation-queue.ts'
export { type ImportMembers, importKey, type MaterialMember, materialMembers } from './material/import-jwk.ts'
export { type KeyRequest, type KeySpec, toKeySpec } from './material/key-request.ts'
export {
  fits,
  type GeneratedKey,
  isJoseKey,
  type KeyDescription,
  type KeyMaterial,
  loadKey,
  type MaterialDescriptor,
  type MaterialKind,
  serializeMaterial,
} from './material/material.ts'
export { getPublicHalf, type KeyShape, modulusBits } from './material/public-half.ts'
export {
  decryptRsa,
  encryptRsa,
  joseEncryption,
  oaepPlan,
  planRsa,
  type RsaPlan,
} from './rsa/rsa-encryption.ts'
export { oaepUnwrapCek, oaepWrap } from './rsa/rsa-oaep.ts'
export { signsInPlace, signWith, type ToSign, verifyOffLoop, verifyWith } from './signature/sign.ts'
export { joseSignature, planSignature } from './signature/signature-plan.ts'
export {
  type JoinRequest,
  joinParts,
  type KeyPart,
  maximumParts,
  type SplitKeyMethod,
  splitSecret,
} from './split/index.ts'
