export { CovercryptError, type CovercryptErrorCode, covercryptError, eachItem } from './error.ts'
export {
  decodeBulkSealRequest,
  decodeItems,
  decodeSealRequest,
  encodeItems,
  encodeSealRequest,
} from './frames.ts'
export {
  decodeMasterKey,
  decodePublicKey,
  decodeUserKey,
  encodeMasterKey,
  encodePublicKey,
  encodeUserKey,
} from './key-bytes.ts'
export {
  createMasterKey,
  derivePublicKey,
  type MasterKey,
  type PublicKey,
  prune,
  rekey,
  type UserKey,
  withStructure,
} from './keys.ts'
export { encryptionRights, parsePolicy, userRights } from './policy.ts'
export { open, openMany, opensWith, seal, sealMany } from './sealing.ts'
export {
  type AttributeName,
  addAttribute,
  deleteAttribute,
  disableAttribute,
  formatQualifiedName,
  type NewAttribute,
  nextAttributeId,
  parseAttributeName,
  renameAttribute,
  type SecurityMode,
  type Structure,
  toRight,
} from './structure.ts'
export { structureFromJson } from './structure-formats.ts'
export { createUserKey, refreshUserKey } from './user-key.ts'
