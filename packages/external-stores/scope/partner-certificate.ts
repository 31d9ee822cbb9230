import type { X509Certificate } from 'node:crypto'
import type { ExternalStoreName } from '@warder/keys'
import { type AuthenticationContext, type IncomingRequest, readPeerCommonName } from '@warder/server'
import type { ExternalStoreServices } from './scope.ts'

/** The Common Name of a partner's client certificate, or the reason for its rejection, for the log. */
export type PartnerVerdict = { readonly name: string } | { readonly problem: string }

interface Known {
  readonly verdict: PartnerVerdict
  /** Unix milliseconds. */
  readonly validUntil: number
}

/**
 * Reads the client certificate of a cloud. It must be issued under the authorities of that cloud, be valid now, and
 * have a configured Common Name. A certificate from a browser is ignored, because it belongs to the user of the
 * browser.
 */
export function partnerNamed(store: ExternalStoreName, names: readonly string[]) {
  const allowed = new Set(names)
  const known = new WeakMap<X509Certificate, Known>()
  return ({ request, services }: AuthenticationContext<ExternalStoreServices>): PartnerVerdict => {
    if (isBrowserRequest(request)) return { problem: 'the request was sent by a browser' }
    const certificate = request.partnerCertificate?.(store)
    if (certificate === undefined)
      return { problem: 'no client certificate under the authorities of the cloud' }
    let found = known.get(certificate)
    if (found === undefined) {
      found = { verdict: verdictOn(certificate, allowed), validUntil: certificate.validToDate.getTime() }
      known.set(certificate, found)
    }
    if (services.clock.now() > found.validUntil) return { problem: 'the client certificate has expired' }
    return found.verdict
  }
}

function verdictOn(certificate: X509Certificate, allowed: ReadonlySet<string>): PartnerVerdict {
  const name = readPeerCommonName(certificate)
  if (name !== undefined && allowed.has(name)) return { name }
  return { problem: 'the Common Name of the client certificate is not in the settings' }
}

/**
 * Whether the request was sent by a browser for a page: browsers add headers that a page cannot omit (Fetch §3.2, Fetch
 * Metadata §2). A store that authenticates its cloud by a client certificate ignores the certificate of such a request:
 * it belongs to the user of the browser.
 */
function isBrowserRequest({ headers }: Pick<IncomingRequest, 'headers'>): boolean {
  return (
    headers.origin !== undefined || headers.cookie !== undefined || headers['sec-fetch-site'] !== undefined
  )
}
