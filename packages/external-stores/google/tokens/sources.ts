import type { Clock } from '@warder/base'
import type { KeySet } from '@warder/server'

/** An identity provider of the settings. */
export interface IdentityProvider {
  readonly issuer: string
  /** Address of its key set. */
  readonly keySet: string
  readonly audiences: readonly string[]
  /** true: the provider authenticates guests, who have no Google account of the organisation. */
  readonly guests: boolean
}

/** Everything that verifies tokens. */
export interface TokenSources {
  /** Address at which Google reaches this scope, without a slash at its end. */
  readonly kaclsUrl: string
  /** Folded. */
  readonly ownerDomain: string
  /** Beginning of the addresses of the key sets of Google's issuers; the issuer follows. */
  readonly authorizationKeys: string
  readonly providers: readonly IdentityProvider[]
  /** Key services that may ask for keys that are moved to them, by their addresses. */
  readonly peers: readonly string[]
  /** `iss` of tokens of a trial. */
  readonly trialIssuer: string
  readonly keysAt: (address: string) => KeySet
  /** Public keys of this service: of tokens that it signed. */
  readonly ownKeys: KeySet
  /** The public key of tokens of a trial; undefined: there are no trials. */
  readonly trialKeys: KeySet | undefined
  readonly clock: Clock
}
