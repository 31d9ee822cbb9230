export { type GcmSealed, gcmDecrypt, gcmEncrypt } from './aes-gcm.ts'
export { es256Sign, es256Verify } from './ecdsa.ts'
export { generateEc, generateRsa, generateSecret } from './generate.ts'
export { type HmacHash, hmacCompute, hmacVerify } from './hmac.ts'
export {
  type GeneratedKey,
  type KeyMaterial,
  type MaterialAlgorithm,
  type MaterialDescriptor,
  type MaterialKind,
  parseMaterial,
  publicFromPrivate,
  serializeMaterial,
} from './material.ts'
export { type OaepHash, oaepUnwrap, oaepUnwrapCek, oaepWrap } from './rsa-oaep.ts'
export { type RsaHash, type RsaScheme, rsaSign, rsaVerify } from './rsa-signature.ts'
