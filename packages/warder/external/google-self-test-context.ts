import { createExchange, type Exchange } from './google-answers.ts'
import type { MockProviders } from './google-mock-providers.ts'
import {
  type SelfTestInstallation,
  type SelfTestSettings,
  selectAdministrator,
} from './google-self-test-installation.ts'

type Claims = Readonly<Record<string, unknown>>

/** Context of the parts of a rehearsal. */
export interface SelfTest extends SelfTestInstallation {
  readonly providers: MockProviders
  readonly exchange: Exchange
  readonly user: string
  readonly administrator: string
  /** The identity provider's token of somebody. */
  authentication(email: string): string
  /** Google's token of the user, of one of its applications. */
  authorization(application: 'drive' | 'meet' | 'gmail' | 'migration', claims: Claims): string
}

export function createSelfTest(
  installation: SelfTestInstallation,
  providers: MockProviders,
  settings: SelfTestSettings,
): SelfTest {
  const { ownerDomain } = settings
  const user = `user@${ownerDomain}`
  return {
    ...installation,
    providers,
    exchange: createExchange(),
    user,
    administrator: selectAdministrator(settings),
    authentication: (email) => providers.token('provider', { aud: 'rehearsal', email }),
    authorization: (application, claims) =>
      providers.token(application, {
        aud: 'cse-authorization',
        email: user,
        kacls_url: installation.kaclsUrl,
        kacls_owner_domain: ownerDomain,
        ...claims,
      }),
  }
}
