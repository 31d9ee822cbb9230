import type { X509Certificate } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import type { AuthenticationContext, Principal } from '@warder/foundation/operations'
import { peerCommonName } from '@warder/foundation/tls'
import { externalPrincipal } from '../../../external/index.ts'
import type { KmsServices } from '../../../services.ts'
import { sentByBrowser } from '../scope/index.ts'

interface Pool {
  readonly principal: Principal
  /** Unix milliseconds. */
  readonly validUntil: number
}

/** Tells which pool of Azure Managed HSM a connection belongs to. */
export type PoolAuthenticator = (context: AuthenticationContext<KmsServices>) => Principal

/**
 * The authenticator of the EKM proxy: a client certificate under the authorities of Azure, with a Common Name of the
 * list (EKM Proxy API, Authentication). What a browser sends for a page is refused: the certificate would be its user's.
 */
export function poolsNamed(names: readonly string[]): PoolAuthenticator {
  const allowed = new Set(names)
  const pools = new WeakMap<X509Certificate, Pool>()
  return ({ request, services }) => {
    if (sentByBrowser(request)) throw unauthorized('a browser sent the request')
    const certificate = request.partnerCertificate?.()
    if (certificate === undefined) throw unauthorized('no client certificate under the authorities of Azure')
    let pool = pools.get(certificate)
    if (pool === undefined) {
      pool = poolOf(certificate, allowed)
      pools.set(certificate, pool)
    }
    if (services.clock.now() > pool.validUntil) throw unauthorized('the client certificate has expired')
    return pool.principal
  }
}

function poolOf(certificate: X509Certificate, allowed: ReadonlySet<string>): Pool {
  const name = peerCommonName(certificate)
  if (name === undefined || !allowed.has(name))
    throw unauthorized('the Common Name of the client certificate is not in azure_ekm_client_names')
  return {
    principal: { name: externalPrincipal('azure', name), method: 'mtls' },
    validUntil: certificate.validToDate.getTime(),
  }
}

function unauthorized(detail: string): Error {
  return failure('unauthorized', 'A client certificate of an Azure Managed HSM pool is needed.', { detail })
}
