import type { CrlEntry, RevocationReason } from '@warder/pki'
import type { PackedEntries } from './crl-store.ts'

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
  | { readonly type: 'entries'; readonly packed: PackedEntries }
  | { readonly type: 'issue'; readonly dates: CrlDates; readonly issuer: CrlIssuer }
  | { readonly type: 'signature'; readonly signature: Uint8Array }

export type FromCrlThread =
  | { readonly type: 'sign'; readonly data: Uint8Array }
  | { readonly type: 'crl'; readonly der: Uint8Array }
  | { readonly type: 'failed'; readonly problem: string }

/** The entries of a page, one at a time. */
export function* unpackEntries(packed: PackedEntries): Generator<CrlEntry, void> {
  if (packed === '') return
  for (const entry of packed.split(',')) {
    const [serial = '', revokedAt, reason = '', invalidityDate = ''] = entry.split(' ')
    yield {
      serial: Buffer.from(serial, 'hex'),
      revokedAt: Number(revokedAt),
      ...(reason !== '' && { reason: reason as RevocationReason }),
      ...(invalidityDate !== '' && { invalidityDate: Number(invalidityDate) }),
    }
  }
}
