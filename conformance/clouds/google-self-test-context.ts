import { createExchange, type Exchange } from './google-answers.ts'
import type { MockProviders } from './google-mock-providers.ts'
import {
  type SelfTestInstallation,
  type SelfTestSettings,
  selectAdministrator,
} from './google-self-test-installation.ts'

type Claims = Readonly<Record<string, unknown>>

/** Context of the parts of a self-test. */
export interface SelfTest extends SelfTestInstallation {
  readonly providers: MockProviders
  readonly exchange: Exchange
  readonly user: string
  readonly administrator: string
  /** Creates a token of the identity provider for a user. */
  authentication(email: string): string
  /** Creates a token of a Google application for the user. */
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
