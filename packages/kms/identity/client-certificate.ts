import type { X509Certificate } from 'node:crypto'
import type { Principal } from '@warder/foundation/operations'
import type { Clock } from '@warder/foundation/runtime'
import { peerCommonName } from '@warder/foundation/tls'
import { type Extractor, principalNamed, unauthorized } from './extractor.ts'

interface Holder {
  readonly principal: Principal
  /** Unix milliseconds. */
  readonly validUntil: number
}

/**
 * The Common Name of a client certificate that verified against the client CA. The certificate of a connection is read
 * once; a connection may outlive it, so its end is looked at with each request.
 */
export function clientCertificates(clock: Clock): Extractor {
  const holders = new WeakMap<X509Certificate, Holder>()
  return (request) => {
    const certificate = request.peerCertificate()
    if (certificate === undefined) return undefined
    let holder = holders.get(certificate)
    if (holder === undefined) {
      holder = holderOf(certificate)
      holders.set(certificate, holder)
    }
    if (clock.now() > holder.validUntil) throw unauthorized('the client certificate has expired')
    return holder.principal
  }
}

function holderOf(certificate: X509Certificate): Holder {
  const name = peerCommonName(certificate)
  if (name === undefined) throw unauthorized('the client certificate has no common name that can be a user')
  return { principal: principalNamed(name, 'tls_auth'), validUntil: certificate.validToDate.getTime() }
}
