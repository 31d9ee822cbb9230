import type { TLSSocket } from 'node:tls'
import type { IssuedUnder } from '../tls/client-authorities.ts'
import { getVerifiedPeerCertificate, readPeerCommonName } from '../tls/peer.ts'

/** A partner with host names of this server that no other client may use. */
export interface PartnerHost {
  /** Of `ClientAuthorities`. */
  readonly partner: string
  /** Common Names of its client certificates. */
  readonly commonNames: ReadonlySet<string>
}

/** By names of TLS (server_name, RFC 6066 §3), in lower case. */
export type PartnerHosts = ReadonlyMap<string, PartnerHost>

/**
 * The reason to end a connection after its handshake, before a request is read: it uses the host name of a partner without
 * a certificate of that partner. undefined: the connection stays.
 */
export function handshakeProblem(
  socket: TLSSocket,
  hosts: PartnerHosts,
  issued: IssuedUnder | undefined,
): string | undefined {
  const host = hosts.get(String(socket.servername).toLowerCase())
  if (host === undefined) return undefined
  const certificate = getVerifiedPeerCertificate(socket)
  if (certificate === undefined) return `no valid client certificate: ${socket.authorizationError}`
  if (issued?.partner(certificate, host.partner) !== true)
    return 'the client certificate is from another authority'
  const name = readPeerCommonName(certificate)
  return name !== undefined && host.commonNames.has(name)
    ? undefined
    : 'the client certificate has another name'
}
