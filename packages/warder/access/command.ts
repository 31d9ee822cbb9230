import { type KmsCommandParts, kmsCommand } from '../kms/command.ts'
import { blockedVerb, blockVerb, unblockVerb } from './block.ts'
import { grantCreateVerb, grantVerb, revokeCreateVerb, revokeVerb } from './grant.ts'
import { listVerb, meVerb, ofVerb } from './list.ts'
import { rightsLines } from './rights.ts'
import { transferVerb } from './transfer.ts'

export const accessParts: KmsCommandParts = {
  name: 'access',
  summary: 'decides who may do what with your keys, and shows it',
  about: `Who makes a key owns it and may do everything with it. Everybody else may do nothing until a right is granted.

${rightsLines}`,
  verbs: [
    grantVerb,
    revokeVerb,
    listVerb,
    ofVerb,
    meVerb,
    grantCreateVerb,
    revokeCreateVerb,
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
