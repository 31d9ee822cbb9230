import { createHash } from 'node:crypto'
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

/** RFC 8555 §8.1 */
export function keyAuthorization(token: string, thumbprint: string): string {
  return `${token}.${thumbprint}`
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
