import { type KmsCommandParts, kmsCommand } from '../kms/command.ts'
import { activateVerb, beginVerb, disableVerb, giveVerb, statusVerb } from './ceremony.ts'

export const officersParts: KmsCommandParts = {
  name: 'officers',
  summary: 'ceremonies of the crypto officers: nobody looks after the keys of others alone',
  about: `For those listed in [roles] crypto_officer_users of kms.toml, where crypto_officer_require_ceremony is on. An officer is
dormant until a quorum gives its shares, and again after ceremony_validity seconds.`,
  verbs: [statusVerb, beginVerb, giveVerb, activateVerb, disableVerb],
  example: `  warder officers begin                     ann
  warder officers give ann                  ben, cid
  warder officers activate                  ann
  warder officers disable ann               ben, when ann should no longer be one`,
}

export const officers = kmsCommand(officersParts)
