import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { failure } from '@warder/base'
import {
  type Authenticate,
  type ClientRevocation,
  getVerifiedPeerCertificate,
  type IncomingRequest,
  listPresentedChain,
  type Principal,
} from '@warder/server'

const nothing = new Uint8Array()

/** The authenticated client of a connection, and the expiry of its certificate: an expired certificate is rejected. */
export interface ConnectionOwner {
  /**
   * Principal of the next message; undefined = anonymous.
   * @throws Failure unauthorized when the user of the certificate is no longer accepted
   */
  principal(): Promise<Principal | undefined>
  /** undefined: there is none. */
  readonly certificate?: X509Certificate
  /** Milliseconds since 1970. */
  readonly validUntil: number
  /** Why the certificate is refused now, for the log; undefined = it is not. */
  problem(): string | undefined
}

/**
 * Authenticates the client of a connection as over HTTPS; the client certificate is its only credential.
 * @throws Failure unauthorized when the certificate does not identify a user
 */
export async function findOwner(
  socket: TLSSocket,
  authenticate: Authenticate,
  address: string,
  id: string,
  revocation: ClientRevocation | undefined,
): Promise<ConnectionOwner> {
  const verified = getVerifiedPeerCertificate(socket)
  // A copy, since the certificate object of the socket keeps the whole session alive.
  const certificate = verified === undefined ? undefined : new X509Certificate(verified.raw)
  if (verified === undefined || certificate === undefined)
    return { principal: async () => undefined, validUntil: 0, problem: () => undefined }
  const validUntil = certificate.validToDate.getTime()
  const chain = revocation && listPresentedChain(verified)
  const problem = () => chain && revocation?.problem(chain)
  const refused = problem()
  if (refused !== undefined) throw failure('unauthorized', undefined, { detail: refused })
  const request = connectionAsRequest(certificate, address, id)
  const owner: ConnectionOwner = {
    principal: async () => authenticate(request),
    certificate,
    validUntil,
    problem,
  }
  // A client that cannot be identified is not connected.
  await owner.principal()
  return owner
}

function connectionAsRequest(certificate: X509Certificate, address: string, id: string): IncomingRequest {
  return {
    id,
    method: 'POST',
    path: '/kmip',
    query: new URLSearchParams(),
    rawQuery: '',
    headers: {},
    cookies: () => [],
    clientAddress: address,
    isAddressKnown: true,
    peerAddress: address,
    connection: certificate,
    peerCertificate: () => certificate,
    body: nothing,
  }
}
