import { failure } from '@warder/base'
import { externalPrincipal } from '@warder/keys'
import type { AuthenticationContext, Principal } from '@warder/server'
import { partnerNamed } from '../scope/partner-certificate.ts'
import type { ExternalStoreServices } from '../scope/services.ts'

/** Tells which pool of Azure Managed HSM a connection belongs to. */
export type PoolAuthenticator = (context: AuthenticationContext<ExternalStoreServices>) => Principal

/**
 * The authenticator of the EKM proxy: a client certificate under the authorities of Azure, with a Common Name of the
 * list (EKM Proxy API, Authentication).
 */
export function poolsNamed(names: readonly string[]): PoolAuthenticator {
  const requirePool = partnerNamed('azure', names)
  return (context) => {
    const pool = requirePool(context)
    if ('problem' in pool)
      throw failure('unauthorized', 'A client certificate of an Azure Managed HSM pool is required.', {
        detail: pool.problem,
      })
    return { name: externalPrincipal('azure', pool.name), method: 'mtls' }
  }
}
