import type { OperationName } from '@warder/kmip-codec'
import type { KmipOperation } from '../engine/types.ts'
import { adjustAttribute } from './attributes/adjust-attribute.ts'
import {
  addAttribute,
  deleteAttribute,
  modifyAttribute,
  setAttribute,
} from './attributes/change-attributes.ts'
import { getConstraints, setConstraints, setDefaults } from './attributes/creation-rules.ts'
import { getAttributeList, getAttributes } from './attributes/get-attributes.ts'
import { certify, reCertify } from './certificates/certify.ts'
import { validate } from './certificates/validate.ts'
import { decrypt } from './crypto/decrypt.ts'
import { encrypt } from './crypto/encrypt.ts'
import { hash, rngRetrieve, rngSeed } from './crypto/keyless.ts'
import { mac, macVerify } from './crypto/mac.ts'
import { sign, signatureVerify } from './crypto/sign.ts'
import { overVersions, withNewest } from './crypto/versions.ts'
import { activate } from './life-cycle/activate.ts'
import { archive, recover } from './life-cycle/archive.ts'
import { deactivate } from './life-cycle/deactivate.ts'
import { destroy } from './life-cycle/destroy.ts'
import { check, getUsageAllocation, obtainLease } from './life-cycle/leases.ts'
import { obliterate } from './life-cycle/obliterate.ts'
import { revoke } from './life-cycle/revoke.ts'
import { create } from './objects/create.ts'
import { createGroup } from './objects/create-group.ts'
import { createKeyPair } from './objects/create-key-pair.ts'
import { createSplitKey } from './objects/create-split-key.ts'
import { deriveKey } from './objects/derive-key.ts'
import { joinSplitKey } from './objects/join-split-key.ts'
import { locate } from './objects/locate.ts'
import { reKey } from './objects/re-key.ts'
import { reKeyKeyPair } from './objects/re-key-key-pair.ts'
import { cancel, poll, process, queryAsynchronousRequests } from './server/asynchronous.ts'
import { interop, log, ping, pkcs11 } from './server/conversation.ts'
import { discoverVersions, queryOperation } from './server/query.ts'
import { exportObject, get } from './transfer/get.ts'
import { importObject } from './transfer/import.ts'
import { register } from './transfer/register.ts'

/** All operations. To add one, append its row; no other file changes. */
const rows: readonly KmipOperation[] = [
  create,
  createKeyPair,
  createGroup,
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
  deactivate,
  revoke,
  destroy,
  obliterate,
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
