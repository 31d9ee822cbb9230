import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { blockedVerb, blockVerb, unblockVerb } from './block.ts'
import {
  grantAuditVerb,
  grantCreateVerb,
  grantVerb,
  revokeAuditVerb,
  revokeCreateVerb,
  revokeVerb,
} from './grant.ts'
import { groupVerbs } from './group.ts'
import { listVerb, meVerb, ofVerb } from './list.ts'
import { explainVerb, reportVerb } from './report.ts'
import { rightsLines } from './rights.ts'
import { transferVerb } from './transfer.ts'

export const accessParts: KmsCommandParts = {
  name: 'access',
  summary: 'Grant, revoke, explain and report rights on keys',
  about: `The user who creates a key owns it and has every right on it. All other users have none until a right is granted.

${rightsLines}`,
  verbs: [
    grantVerb,
    revokeVerb,
    listVerb,
    ofVerb,
    meVerb,
    explainVerb,
    reportVerb,
    ...groupVerbs,
    grantCreateVerb,
    revokeCreateVerb,
    grantAuditVerb,
    revokeAuditVerb,
    blockVerb,
    unblockVerb,
    blockedVerb,
    transferVerb,
  ],
  example: `  warder access grant KEY bob encrypt decrypt
  warder access list KEY
  warder access explain --as bob --key KEY --use decrypt
  warder access revoke KEY bob decrypt`,
}

export const access = kmsCommand(accessParts)
