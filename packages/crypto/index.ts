export { encryptAge } from './age/encrypt.ts'
export { parseAgeRecipient } from './age/recipient.ts'
export { algorithmFor, algorithmNames, algorithms, canonicalName, toKeyOps } from './algorithms/algorithms.ts'
export { isCipher, isFipsSymmetric } from './algorithms/ciphers.ts'
export { CryptoFailure, type CryptoFailureCode, decryptionFailed, refuse } from './algorithms/failure.ts'
export { digest, type HashAlgorithm, type HashName, requireHash } from './algorithms/hashes.ts'
export {
  curves,
  findCurveName,
  keyTypes,
  type MaterialAlgorithm,
  slhDsaBits,
} from './algorithms/key-types.ts'
export { hmacs } from './algorithms/macs.ts'
export {
  type CryptographicParameters,
  noParameters,
  type ParameterName,
  spelling,
} from './algorithms/parameters.ts'
export {
  type AlgorithmPolicy,
  findRefusal,
  keyFacts,
  type PolicyFacts,
  type PolicyList,
  plainName,
  recommendedNames,
  requirePermitted,
} from './algorithms/policy.ts'
export type { SignaturePlan } from './algorithms/signatures.ts'
export type { BackendKey, CipherParts, KeyBackend } from './backend/key-backend.ts'
export { type DescribedKey, softwareBackend, softwareKey } from './backend/software.ts'
export { type CipherPlan, joseCipher, joseTagBytes, planCipher } from './cipher/cipher-plan.ts'
export { type EncryptionChoice, whyDecryptionEncrypts, whyEncryptionDecrypts } from './cipher/inverse.ts'
export {
  type CipherStream,
  decryptSymmetric,
  type Encrypted,
  encryptSymmetric,
  finishDecryption,
  maximumStreamBytes,
  prepareDecryption,
  prepareEncryption,
} from './cipher/symmetric.ts'
export { type Derivation, type DerivationMethod, deriveKey, joseDerivation } from './derivation/derive-key.ts'
export { decodeBase64Url, encodeBase64Url } from './jose/base64url.ts'
export { isDirect, receiveContentKey, sendContentKey } from './jose/content-key.ts'
export {
  ContentKeys,
  type ContentOpener,
  type ContentSealer,
  contentPlan,
  type FlattenedJwe,
  jweDecryptDirect,
  jweDecryptOaep,
  jweDecryptReceived,
  jweEncryptDirect,
  jweEncryptOaep,
  jweEncryptSent,
  openNow,
  sealNow,
} from './jose/jwe-flattened.ts'
export { createSignature, jwsSign, jwsVerify } from './jose/jws-detached.ts'
export { readManagementParameters } from './jose/key-management-parameters.ts'
export { jweHeader, readJweHeader, readJwsHeader, readUnprotected } from './jose/protected-header.ts'
export { encapsulateFor, isKemKey, requireKem } from './kem.ts'
export { joseMac, type MacPlan, planMac, sameTag } from './mac.ts'
export {
  countUnfinishedGenerations,
  generateKey,
  generateQuantumSafe,
  inGenerationQueue,
  quantumSafeBits,
} from './material/generate-key.ts'
export { type ImportMembers, importKey, type MaterialMember, materialMembers } from './material/import-jwk.ts'
export { type KeyRequest, type KeySpec, toKeySpec } from './material/key-request.ts'
export {
  fits,
  type GeneratedKey,
  isJoseKey,
  type KeyMaterial,
  type KeyShape,
  type MaterialDescriptor,
  type MaterialKind,
  modulusBits,
  serializeMaterial,
} from './material/material.ts'
export {
  decryptRsa,
  encryptRsa,
  joseEncryption,
  oaepPlan,
  planRsa,
  type RsaPlan,
} from './rsa/rsa-encryption.ts'
export { createRejection, oaepUnwrapCek, type RsaPrivateKey } from './rsa/rsa-oaep.ts'
export { toDerSignature } from './signature/ecdsa-digest.ts'
export { digestInfo } from './signature/rsa-encodings.ts'
export { type ToSign, verifyOffLoop } from './signature/sign.ts'
export { joseSignature, planSignature } from './signature/signature-plan.ts'
export type { KeyPart, SplitKeyMethod } from './split/shamir.ts'
export { type JoinRequest, joinParts, maximumParts, splitSecret } from './split/split-key.ts'
