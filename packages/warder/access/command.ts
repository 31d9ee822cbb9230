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
import { listVerb, meVerb, ofVerb } from './list.ts'
import { rightsLines } from './rights.ts'
import { transferVerb } from './transfer.ts'

export const accessParts: KmsCommandParts = {
  name: 'access',
  summary: 'Grant, revoke and list rights on keys',
  about: `The user who creates a key owns it and has every right on it. All other users have none until a right is granted.

${rightsLines}`,
  verbs: [
    grantVerb,
    revokeVerb,
    listVerb,
    ofVerb,
    meVerb,
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
  warder access of bob
  warder access revoke KEY bob decrypt`,
}

export const access = kmsCommand(accessParts)
