import type { Resolver } from 'node:dns/promises'
import type { PlainFetch, TlsProbe } from '@warder/foundation/outbound'
import type { Identifier } from '../stored/challenge.ts'

/** What is to be found where an identifier leads. */
export interface Proof {
  readonly identifier: Identifier
  readonly token: string
  readonly keyAuthorization: string
}

/** The ways out to where challenges are answered. */
export interface Ways {
  readonly http: PlainFetch
  readonly httpPort: number
  readonly tls: TlsProbe
  readonly dns: Pick<Resolver, 'resolveTxt'>
}
