import type { Operation } from '@warder/foundation/operations'
import type { KmsServices } from '../../services.ts'
import { approvalOperations } from './approvals.ts'
import { activate, begin, disable, latest, status } from './ceremony.ts'

/** Operations of crypto officers about one another. */
export const officerOperations: readonly Operation<KmsServices>[] = [
  status,
  latest,
  begin,
  activate,
  disable,
  ...approvalOperations,
]
