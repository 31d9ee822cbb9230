import type { OperationName } from '@warder/kmip-codec'
import type { KmipOperation } from '../engine/types.ts'
import { addAttribute } from './attributes/add-attribute.ts'
import { adjustAttribute } from './attributes/adjust-attribute.ts'
import { getConstraints, setConstraints, setDefaults } from './attributes/creation-rules.ts'
import { deleteAttribute } from './attributes/delete-attribute.ts'
import { getAttributeList } from './attributes/get-attribute-list.ts'
import { getAttributes } from './attributes/get-attributes.ts'
import { modifyAttribute } from './attributes/modify-attribute.ts'
import { setAttribute } from './attributes/set-attribute.ts'
import { certify } from './certificates/certify.ts'
import { reCertify } from './certificates/re-certify.ts'
import { validate } from './certificates/validate.ts'
import { interop, log, ping } from './crypto/conversation.ts'
import { decrypt } from './crypto/decrypt.ts'
import { encrypt } from './crypto/encrypt.ts'
import { hash } from './crypto/hash.ts'
import { mac, macVerify } from './crypto/mac.ts'
import { pkcs11 } from './crypto/pkcs11.ts'
import { rngRetrieve, rngSeed } from './crypto/random.ts'
import { sign } from './crypto/sign.ts'
import { signatureVerify } from './crypto/signature-verify.ts'
import { overVersions, withNewest } from './crypto/versions.ts'
import { activate } from './life-cycle/activate.ts'
import { archive, recover } from './life-cycle/archive.ts'
import { destroy } from './life-cycle/destroy.ts'
import { check, getUsageAllocation, obtainLease } from './life-cycle/leases.ts'
import { revoke } from './life-cycle/revoke.ts'
import { create } from './objects/create.ts'
import { createKeyPair } from './objects/create-key-pair.ts'
import { createSplitKey } from './objects/create-split-key.ts'
import { deriveKey } from './objects/derive-key.ts'
import { joinSplitKey } from './objects/join-split-key.ts'
import { locate } from './objects/locate.ts'
import { reKey } from './objects/re-key.ts'
import { reKeyKeyPair } from './objects/re-key-key-pair.ts'
import { discoverVersions } from './server/discover-versions.ts'
import { cancel, poll } from './server/poll.ts'
import { process, queryAsynchronousRequests } from './server/process.ts'
import { queryOperation } from './server/query.ts'
import { exportObject } from './transfer/export.ts'
import { get } from './transfer/get.ts'
import { importObject } from './transfer/import.ts'
import { register } from './transfer/register.ts'

/** All operations. To add one, append its row; no other file changes. */
const rows: readonly KmipOperation[] = [
  create,
  createKeyPair,
  register,
  importObject,
  get,
  exportObject,
  reKey,
  reKeyKeyPair,
  certify,
  reCertify,
  validate,
  activate,
  revoke,
  destroy,
  archive,
  recover,
  check,
  obtainLease,
  getUsageAllocation,
  withNewest(encrypt),
  overVersions(decrypt),
  withNewest(sign),
  overVersions(signatureVerify),
  withNewest(mac),
  overVersions(macVerify),
  hash,
  deriveKey,
  createSplitKey,
  joinSplitKey,
  rngRetrieve,
  rngSeed,
  poll,
  cancel,
  process,
  queryAsynchronousRequests,
  ping,
  log,
  interop,
  pkcs11,
  setDefaults,
  setConstraints,
  getConstraints,
  discoverVersions,
  locate,
  getAttributes,
  getAttributeList,
  addAttribute,
  setAttribute,
  modifyAttribute,
  deleteAttribute,
  adjustAttribute,
  queryOperation(() => kmipOperations.keys()),
]

/** The operation table of the engine. */
export const kmipOperations: ReadonlyMap<OperationName, KmipOperation> = new Map(
  rows.map((row) => [row.name, row]),
)
