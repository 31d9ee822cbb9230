import type { OperationName } from '@warder/kmip/tables'
import type { KmipOperation } from '../engine/index.ts'
import { activate } from './activate.ts'
import { addAttribute } from './add-attribute.ts'
import { adjustAttribute } from './adjust-attribute.ts'
import { archive, recover } from './archive.ts'
import { interop, log, ping } from './conversation.ts'
import { create } from './create.ts'
import { createKeyPair } from './create-key-pair.ts'
import { deleteAttribute } from './delete-attribute.ts'
import { destroy } from './destroy.ts'
import { discoverVersions } from './discover-versions.ts'
import { get } from './get.ts'
import { getAttributeList } from './get-attribute-list.ts'
import { getAttributes } from './get-attributes.ts'
import { check, getUsageAllocation, obtainLease } from './leases.ts'
import { locate } from './locate.ts'
import { modifyAttribute } from './modify-attribute.ts'
import { cancel, poll } from './poll.ts'
import { queryOperation } from './query.ts'
import { rngRetrieve, rngSeed } from './random.ts'
import { register } from './register.ts'
import { revoke } from './revoke.ts'
import { setAttribute } from './set-attribute.ts'

/** Every operation that is done here. Append a row; nothing else has to know. */
const rows: readonly KmipOperation[] = [
  create,
  createKeyPair,
  register,
  get,
  activate,
  revoke,
  destroy,
  archive,
  recover,
  check,
  obtainLease,
  getUsageAllocation,
  rngRetrieve,
  rngSeed,
  poll,
  cancel,
  ping,
  log,
  interop,
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
