import type { X509Certificate } from 'node:crypto'
import type { Clock } from '@warder/base'
import { principalNamed, unauthorized } from '@warder/keys'
import { type Principal, readPeerCommonName } from '@warder/server'
import type { Extractor } from './cascade.ts'
import type { Ended } from './revocations/ended.ts'
import type { RoleReader } from './roles.ts'

interface Holder {
  readonly principal: Principal
  /** Unix milliseconds. */
  readonly validUntil: number
  /** Unix seconds. */
  readonly validFrom: number
  /** Generation of the revocations at the last check; if it is the same, nothing was revoked since. */
  generation: number
}

/**
 * Authenticates a client by the Common Name of its certificate, which was verified against the client CA. The
 * certificate of a connection is read once. A connection may outlive it, so each request checks its expiry,
 * and whether the named user was deleted: certificates issued before the deletion are refused, even if
 * another user gets the name.
 * @param ended revocations of the authentication service; if they are unknown, certificates remain accepted
 */
export function clientCertificates(clock: Clock, ended?: Ended, roles?: RoleReader): Extractor {
  const holders = new WeakMap<X509Certificate, Holder>()
  return (request) => {
    const certificate = request.peerCertificate()
    if (certificate === undefined) return undefined
    let holder = holders.get(certificate)
    if (holder === undefined) {
      holder = readHolder(certificate, roles)
      holders.set(certificate, holder)
    }
    if (clock.now() > holder.validUntil) throw unauthorized('the client certificate has expired')
    if (ended !== undefined && holder.generation !== ended.generation) {
      const { generation } = ended
      if (ended.nameEndedAt(holder.principal.name) >= holder.validFrom)
        throw unauthorized('the user of the certificate was deleted')
      holder.generation = generation
    }
    return holder.principal
  }
}

function readHolder(certificate: X509Certificate, roles: RoleReader | undefined): Holder {
  const name = readPeerCommonName(certificate)
  if (name === undefined)
    throw unauthorized('the client certificate has no common name that is a valid user name')
  const principal = principalNamed(name, 'tls_auth')
  return {
    principal: roles?.fromCertificate(principal, certificate) ?? principal,
    validUntil: certificate.validToDate.getTime(),
    validFrom: Math.floor(certificate.validFromDate.getTime() / 1000),
    generation: -1,
  }
}
