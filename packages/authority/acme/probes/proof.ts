import type { Resolver } from 'node:dns/promises'
import type { PlainFetch, TlsProbe } from '@warder/outbound'
import type { Identifier } from '../stored/challenge.ts'

/** The proof to be found at an identifier's address. */
export interface Proof {
  readonly identifier: Identifier
  readonly token: string
  readonly keyAuthorization: string
}

/** Outbound clients for the validation of challenges. */
export interface Ways {
  readonly http: PlainFetch
  readonly httpPort: number
  readonly tls: TlsProbe
  readonly dns: Pick<Resolver, 'resolveTxt'>
}
