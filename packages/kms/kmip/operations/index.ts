import type { OperationName } from '@warder/kmip/tables'
import type { KmipOperation } from '../engine/index.ts'
import { activate } from './activate.ts'
import { create } from './create.ts'
import { destroy } from './destroy.ts'
import { discoverVersions } from './discover-versions.ts'
import { get } from './get.ts'
import { queryOperation } from './query.ts'
import { revoke } from './revoke.ts'

/** Every operation that is done here. Append a row; nothing else has to know. */
const rows: readonly KmipOperation[] = [
  create,
  get,
  activate,
  revoke,
  destroy,
  discoverVersions,
  queryOperation(() => kmipOperations.keys()),
]

/** The table that the engine works from. */
export const kmipOperations: ReadonlyMap<OperationName, KmipOperation> = new Map(
  rows.map((row) => [row.name, row]),
)
