import { type Exchange, newExchange } from './google-answers.ts'
import type { GoogleParties } from './google-parties.ts'
import { administratorOf, type RehearsalRoom, type RehearsedSettings } from './google-room.ts'

type Claims = Readonly<Record<string, unknown>>

/** Context of the parts of a rehearsal. */
export interface Rehearsal extends RehearsalRoom {
  readonly parties: GoogleParties
  readonly exchange: Exchange
  readonly user: string
  readonly administrator: string
  /** The identity provider's token of somebody. */
  authentication(email: string): string
  /** Google's token of the user, of one of its applications. */
  authorization(application: 'drive' | 'meet' | 'gmail' | 'migration', claims: Claims): string
}

export function rehearsalIn(
  room: RehearsalRoom,
  parties: GoogleParties,
  settings: RehearsedSettings,
): Rehearsal {
  const { ownerDomain } = settings
  const user = `user@${ownerDomain}`
  return {
    ...room,
    parties,
    exchange: newExchange(),
    user,
    administrator: administratorOf(settings),
    authentication: (email) => parties.token('provider', { aud: 'rehearsal', email }),
    authorization: (application, claims) =>
      parties.token(application, {
        aud: 'cse-authorization',
        email: user,
        kacls_url: room.kaclsUrl,
        kacls_owner_domain: ownerDomain,
        ...claims,
      }),
  }
}
