export { CovercryptError, type CovercryptErrorCode, covercryptError, eachItem } from './error.ts'
export {
  decodeBulkSealRequest,
  decodeItems,
  decodeSealRequest,
  encodeItems,
  encodeSealRequest,
} from './frames/frames.ts'
export {
  decodeMasterKey,
  decodePublicKey,
  decodeUserKey,
  encodeMasterKey,
  encodePublicKey,
  encodeUserKey,
} from './keys/key-bytes.ts'
export type { MasterKey, PublicKey, UserKey } from './keys/key-types.ts'
export { derivePublicKey } from './keys/public-key.ts'
export { createMasterKey, prune, rekey, withStructure } from './keys/rotation.ts'
export { createUserKey, refreshUserKey } from './keys/user-key.ts'
export { parsePolicy } from './policy/parse.ts'
export { encryptionRights, userRights } from './policy/rights.ts'
export { openMany, sealMany } from './sealing/bulk.ts'
export { open, opensWith, seal } from './sealing/sealing.ts'
export {
  addAttribute,
  deleteAttribute,
  disableAttribute,
  type NewAttribute,
  nextAttributeId,
  renameAttribute,
} from './structure/edit.ts'
export { type AttributeName, parseAttributeName } from './structure/names.ts'
export { toRight } from './structure/right.ts'
export { formatQualifiedName, type SecurityMode, type Structure } from './structure/structure.ts'
export { structureFromJson } from './structure/structure-json.ts'
