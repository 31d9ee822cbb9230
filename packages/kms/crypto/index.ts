export { type GcmSealed, gcmDecrypt, gcmEncrypt } from './aes-gcm.ts'
export {
  type Algorithm,
  algorithmFor,
  algorithms,
  type ContentEncryption,
  canonicalName,
  type KeyManagementAlgorithm,
  type KeyType,
  keyOpsOf,
  type MacAlgorithm,
  type SignatureAlgorithm,
} from './algorithms.ts'
export { es256Sign, es256Verify } from './ecdsa.ts'
export { generateEc, generateRsa, generateSecret } from './generate.ts'
export { generateKey } from './generate-key.ts'
export { inGenerationQueue } from './generation-queue.ts'
export { type HmacHash, hmacCompute, hmacText, hmacVerify } from './hmac.ts'
export { type ImportMembers, importKey } from './import-jwk.ts'
export { type KeyRequest, type KeySpec, keySpecOf } from './key-request.ts'
export {
  type GeneratedKey,
  isJoseKey,
  type KeyDescription,
  type KeyMaterial,
  loadKey,
  type MaterialAlgorithm,
  type MaterialDescriptor,
  type MaterialKind,
  parseMaterial,
  publicFromPrivate,
  serializeMaterial,
} from './material.ts'
export { maskWith } from './mgf1.ts'
export type { OaepHash } from './oaep-decode.ts'
export {
  type AlgorithmPolicy,
  algorithmPolicy,
  keyFacts,
  type PolicyFacts,
  type PolicyList,
  plainName,
  policyLists,
  recommendedNames,
  refusalOf,
  requirePermitted,
} from './policy.ts'
export { oaepUnwrap, oaepUnwrapCek, oaepWrap, rsaOpen, rsaPrivate } from './rsa-oaep.ts'
export { type RsaHash, type RsaScheme, rsaSign, rsaVerify } from './rsa-signature.ts'
export { checkSignature, createSignature } from './signature.ts'
