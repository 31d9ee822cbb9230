import type { Governance } from '@warder/keys'
import { approvable } from '@warder/keys/settings'
import Type, { type Static } from 'typebox'

const Texts = Type.Array(Type.String({ maxLength: 512 }), { maxItems: 1000 })
const Seconds = Type.Integer({ minimum: 60, maximum: 31_536_000 })

/** The settings `[roles]` and `[approvals]`: who approves, and which operations require approval. */
export const Settings = Type.Object(
  {
    crypto_officer_users: Texts,
    crypto_officer_require_ceremony: Type.Boolean(),
    ceremony_quorum: Type.Union([Type.Integer({ minimum: 2, maximum: 255 }), Type.Null()]),
    ceremony_validity: Seconds,
    operations: Type.Array(Type.Enum([...approvable])),
    tags: Texts,
    algorithms: Texts,
    owners: Texts,
    validity: Seconds,
    vote_with: Type.Optional(Texts),
    credential_wait: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_592_000 })),
  },
  { description: 'For settings: all of [roles] and [approvals] for the next start.' },
)

export function governanceIn(settings: Static<typeof Settings>): Governance {
  const { operations, tags, algorithms, owners, vote_with: voteWith = [], credential_wait: wait } = settings
  return {
    officers: {
      users: settings.crypto_officer_users,
      requireCeremony: settings.crypto_officer_require_ceremony,
      quorum: settings.ceremony_quorum,
      validitySeconds: settings.ceremony_validity,
    },
    approvals: {
      ...{ operations, tags, algorithms, owners, validitySeconds: settings.validity, voteWith },
      ...(wait !== undefined && { credentialWaitSeconds: wait }),
    },
  }
}

export function formatSettings({ officers, approvals }: Governance): Static<typeof Settings> {
  const { operations, tags, algorithms, owners, voteWith = [], credentialWaitSeconds } = approvals
  return {
    crypto_officer_users: [...officers.users],
    crypto_officer_require_ceremony: officers.requireCeremony,
    ceremony_quorum: officers.quorum,
    ceremony_validity: officers.validitySeconds,
    operations: [...operations],
    tags: [...tags],
    algorithms: [...algorithms],
    owners: [...owners],
    validity: approvals.validitySeconds,
    ...(voteWith.length > 0 && { vote_with: [...voteWith] }),
    ...(credentialWaitSeconds !== undefined && { credential_wait: credentialWaitSeconds }),
  }
}
