import type { Operation } from '@warder/server'
import { approvalOperations } from './approvals.ts'
import { activate, begin, disable, latest, status } from './ceremony.ts'
import { testNotices } from './notices.ts'
import type { OfficerServices } from './services.ts'

/** Operations of crypto officers about one another. */
export const officerOperations: readonly Operation<OfficerServices>[] = [
  status,
  latest,
  begin,
  activate,
  disable,
  ...approvalOperations,
  testNotices,
]
