import type { AlgorithmPolicy, LastUses, Requester } from '@warder/keys'
import type { RevocationConfig } from '../register/settings.ts'

/** A request for a certificate: its sender has the rights on the keys that it names. */
export interface CertificateRequester extends Requester {
  readonly services: Requester['services'] & {
    readonly policy: AlgorithmPolicy
    readonly revocation: RevocationConfig
    readonly uses: LastUses
  }
  /** Unix milliseconds. */
  readonly now: number
}
