import { type ExternalStoreName, externalPrincipal } from '@warder/keys'
import type { OperationContext } from '@warder/server'

/** The vendor's facts about a request, for the audit record. Its signature or token was verified. */
export interface VendorRequest {
  /** The identifier of the request in the vendor's own log. */
  readonly requestId: string | undefined
  /** The vendor's name of the caller; undefined where the request names none. */
  readonly principal: string | undefined
  /** Further facts, under names of this service. Nothing secret. */
  readonly details?: Readonly<Record<string, unknown>>
  /** The key that it is about. */
  readonly object?: string
  readonly algorithm?: string
}

/** Longest text of a vendor that is recorded, in characters. */
const maxTextLength = 2048

/** Puts the vendor's request id and principal into the record of this request. */
export function recordVendor(
  { audit }: Pick<OperationContext<never>, 'audit'>,
  store: ExternalStoreName,
  { requestId, principal, details, object, algorithm }: VendorRequest,
): void {
  audit({
    ...(principal !== undefined && {
      principal: externalPrincipal(store, principal.slice(0, maxTextLength)),
    }),
    ...(object !== undefined && { object }),
    ...(algorithm !== undefined && { algorithm }),
    details: {
      ...(requestId !== undefined && { vendor_request_id: requestId.slice(0, maxTextLength) }),
      ...details,
    },
  })
}
