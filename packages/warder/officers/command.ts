import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { approveVerb, askVerb, refuseVerb, requestsVerb, withdrawVerb } from './approvals.ts'
import { activateVerb, beginVerb, disableVerb, giveVerb, statusVerb } from './ceremony.ts'
import { resetPolicyVerb } from './reset-policy.ts'

export const officersParts: KmsCommandParts = {
  name: 'officers',
  summary: 'Approve operations by a quorum of crypto officers, and hold ceremonies',
  about: `Requests: operations that [approvals] in kms.toml names need the approval of a quorum of the crypto officers. The
owner of the key sends the request; officers approve or refuse it, but not their own.

Ceremonies: for officers in [roles] crypto_officer_users of kms.toml, if crypto_officer_require_ceremony is set. An
officer is dormant until a quorum gives its shares, and again after ceremony_validity seconds.`,
  verbs: [
    askVerb,
    requestsVerb,
    approveVerb,
    refuseVerb,
    withdrawVerb,
    statusVerb,
    beginVerb,
    giveVerb,
    activateVerb,
    disableVerb,
  ],
  homeVerbs: [resetPolicyVerb],
  example: `  warder officers ask destroy KEY           the owner of the key
  warder officers approve REQUEST           three officers
  warder officers begin                     ann
  warder officers give ann                  ben, cid
  warder officers activate                  ann
  warder officers disable ann               ben, when ann should no longer be one`,
}

export const officers = kmsCommand(officersParts)
