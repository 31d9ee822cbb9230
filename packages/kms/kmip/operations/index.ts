import type { OperationName } from '@warder/kmip/tables'
import type { KmipOperation } from '../engine/index.ts'

/** Every operation that is done here. Append a row; nothing else has to know. */
const rows: readonly KmipOperation[] = []

export const kmipOperations: ReadonlyMap<OperationName, KmipOperation> = new Map(
  rows.map((row) => [row.name, row]),
)
