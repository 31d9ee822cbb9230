import type { CrlEntry } from '@warder/pki/x509/crl'
import type { PlainEntry } from './crl-store.ts'

/** Times in Unix milliseconds. */
export interface CrlDates {
  readonly number: number
  readonly thisUpdate: number
  readonly nextUpdate: number
}

/** The signing authority as the thread needs it: without its key. */
export interface CrlIssuer {
  readonly name: Uint8Array
  readonly spki: Uint8Array
  readonly keyIdentifier: Uint8Array | undefined
  /** DER of the AlgorithmIdentifier. */
  readonly algorithm: Uint8Array
}

export type ToCrlThread =
  | { readonly type: 'entries'; readonly entries: readonly PlainEntry[] }
  | { readonly type: 'issue'; readonly dates: CrlDates; readonly issuer: CrlIssuer }
  | { readonly type: 'signature'; readonly signature: Uint8Array }

export type FromCrlThread =
  | { readonly type: 'sign'; readonly data: Uint8Array }
  | { readonly type: 'crl'; readonly der: Uint8Array }
  | { readonly type: 'failed'; readonly problem: string }

export function entryOf([serial, revokedAt, reason, invalidityDate]: PlainEntry): CrlEntry {
  return {
    serial: Buffer.from(serial, 'hex'),
    revokedAt,
    ...(reason !== null && { reason }),
    ...(invalidityDate !== null && { invalidityDate }),
  }
}
