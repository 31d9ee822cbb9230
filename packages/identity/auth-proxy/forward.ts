import type { Secret } from '@warder/base'
import { failure } from '@warder/base'
import type { Outbound, OutboundResponse } from '@warder/outbound'
import type { IncomingRequest, RawReply } from '@warder/server'
import { peerSecretHeader, rawReply, unknownClient } from '@warder/server'
import { ClientLimiter } from '../places.ts'

export interface AuthProxyOptions {
  /** Base address of the authentication service, without a slash at its end. */
  readonly url: string
  /** Bounds time and size of the exchange, and follows no redirect. */
  readonly outbound: Outbound
  /** Authenticates this service, so that the authentication service trusts the forwarded client address. */
  readonly peerSecret: Secret | undefined
}

/**
 * Passes a request on.
 * @throws failure('bad_gateway') when no whole answer comes; failure('overloaded') when too many wait
 */
export type Forward = (request: IncomingRequest) => Promise<RawReply>

/** Requests that may wait for the authentication service at one time. */
const maxWaiting = 64
/** Of a request; everything else (cookies, `Authorization`) stays here. */
const sent = ['content-type', 'x-secret-token', 'x-vault-token', 'x-vault-namespace', 'x-vault-request']
/** Of an answer, in the spelling that is sent on. */
const returned = { 'retry-after': 'Retry-After', 'www-authenticate': 'WWW-Authenticate' }

/** The way of `/v1/auth/…` to the authentication service. Path and query are those of a row: see `routes.ts`. */
export function forwarder({ url, outbound, peerSecret }: AuthProxyOptions): Forward {
  const places = new ClientLimiter(maxWaiting, 'too many requests wait for the authentication service')
  const peer = peerSecret?.use((bytes) => ({ [peerSecretHeader]: Buffer.from(bytes).toString('utf8') }))
  return (request) =>
    places.hold(request.clientAddress, async () => {
      const { path, method, body } = request
      const client = {
        'x-forwarded-for': request.clientAddress,
        ...(!request.isAddressKnown && { forwarded: unknownClient }),
      }
      const headers = { ...forwardHeaders(request), ...client, ...peer }
      const query = request.query.toString()
      const address = `${url}${path}${query === '' ? '' : `?${query}`}`
      // That service treats PUT and POST of these paths alike, as Vault does.
      const exchange =
        method === 'GET' ? outbound.get(address, { headers }) : outbound.post(address, body, { headers })
      return toReply(await exchange.catch(failUnanswered))
    })
}

function forwardHeaders(request: IncomingRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of sent) {
    const value = request.headers[name]
    if (value !== undefined) headers[name] = value
  }
  return headers
}

function toReply({ status, headers, body }: OutboundResponse): RawReply {
  const kept: Record<string, string> = {}
  for (const [name, spelling] of Object.entries(returned)) {
    const value = headers[name]
    if (value !== undefined) kept[spelling] = value
  }
  const contentType = headers['content-type']
  return rawReply({
    status,
    headers: kept,
    ...(body.length > 0 && { raw: body, ...(contentType !== undefined && { contentType }) }),
  })
}

function failUnanswered(cause: unknown): never {
  throw failure('bad_gateway', 'The authentication service did not answer: try again.', { cause })
}
