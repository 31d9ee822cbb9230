export interface OutboundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** Requests of a service to others: https only, no redirects, bounded in time and size, public addresses only by default. */
export interface Outbound {
  get(
    url: string,
    options?: {
      readonly headers?: Readonly<Record<string, string>>
      /** Lets go of the exchange before its time. */
      readonly signal?: AbortSignal
    },
  ): Promise<OutboundResponse>
  post(
    url: string,
    body: Uint8Array,
    options?: { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<OutboundResponse>
  delete(
    url: string,
    body: Uint8Array,
    options?: { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<OutboundResponse>
}
