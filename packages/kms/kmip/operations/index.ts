import type { OperationName } from '@warder/kmip/tables'
import type { KmipOperation } from '../engine/index.ts'
import { activate } from './activate.ts'
import { addAttribute } from './add-attribute.ts'
import { adjustAttribute } from './adjust-attribute.ts'
import { archive, recover } from './archive.ts'
import { certify } from './certify.ts'
import { interop, log, ping } from './conversation.ts'
import { create } from './create.ts'
import { createKeyPair } from './create-key-pair.ts'
import { createSplitKey } from './create-split-key.ts'
import { getConstraints, setConstraints, setDefaults } from './creation-rules.ts'
import { decrypt } from './decrypt.ts'
import { deleteAttribute } from './delete-attribute.ts'
import { deriveKey } from './derive-key.ts'
import { destroy } from './destroy.ts'
import { discoverVersions } from './discover-versions.ts'
import { encrypt } from './encrypt.ts'
import { exportObject } from './export.ts'
import { get } from './get.ts'
import { getAttributeList } from './get-attribute-list.ts'
import { getAttributes } from './get-attributes.ts'
import { hash } from './hash.ts'
import { importObject } from './import.ts'
import { joinSplitKey } from './join-split-key.ts'
import { check, getUsageAllocation, obtainLease } from './leases.ts'
import { locate } from './locate.ts'
import { mac, macVerify } from './mac.ts'
import { modifyAttribute } from './modify-attribute.ts'
import { pkcs11 } from './pkcs11.ts'
import { cancel, poll } from './poll.ts'
import { process, queryAsynchronousRequests } from './process.ts'
import { queryOperation } from './query.ts'
import { rngRetrieve, rngSeed } from './random.ts'
import { reCertify } from './re-certify.ts'
import { reKey } from './re-key.ts'
import { reKeyKeyPair } from './re-key-key-pair.ts'
import { register } from './register.ts'
import { revoke } from './revoke.ts'
import { setAttribute } from './set-attribute.ts'
import { sign } from './sign.ts'
import { signatureVerify } from './signature-verify.ts'
import { validate } from './validate.ts'

/** Every operation that is done here. Append a row; nothing else has to know. */
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
  encrypt,
  decrypt,
  sign,
  signatureVerify,
  mac,
  macVerify,
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

/** The table that the engine works from. */
export const kmipOperations: ReadonlyMap<OperationName, KmipOperation> = new Map(
  rows.map((row) => [row.name, row]),
)
