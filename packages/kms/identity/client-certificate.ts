import { peerCommonName } from '@warder/foundation/tls'
import { type Extractor, principalNamed, unauthorized } from './extractor.ts'

/** The Common Name of a client certificate that verified against the client CA. */
export const clientCertificate: Extractor = (request) => {
  const certificate = request.peerCertificate()
  if (certificate === undefined) return undefined
  const name = peerCommonName(certificate)
  if (name === undefined) throw unauthorized('the client certificate has no common name that can be a user')
  return principalNamed(name, 'tls_auth')
}
