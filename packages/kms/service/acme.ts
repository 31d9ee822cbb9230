import { type AcmeEnvironment, acmeErrors, createNonces, createProbes, nonceKey } from '@warder/authority'
import { type Clock, failure } from '@warder/base'
import type { ServiceEnvironment } from '@warder/runtime'
import type { Database } from '@warder/storage'
import type { KmsConfig } from './settings.ts'

/** Environment of ACME in one worker. */
export async function acmeEnvironment({
  config,
  db,
  seal,
  clock,
  baseUrl,
}: ServiceEnvironment<KmsConfig>): Promise<AcmeEnvironment> {
  const nonces = createNonces(db, clock, await nonceKey(db, seal))
  return {
    db,
    clock,
    nonces,
    probes: createProbes({
      allowPrivateNetworks: config.acme_allow_private_networks,
      httpPort: config.acme_http_port,
      tlsPort: config.acme_tls_port,
      dnsServers: config.acme_dns_servers,
    }),
    baseUrl: (config.kms_public_url ?? baseUrl).replace(/\/+$/, ''),
    errorShape: acmeErrors(nonces),
  }
}

/** For operations that are only described in documentation: it serves no requests. */
export function describedAcme(db: Database, clock: Clock): AcmeEnvironment {
  const nothing = (): never => {
    throw failure('internal_error', 'the ACME services are not available to these operations')
  }
  const nonces = { issue: nothing, check: nothing, use: nothing }
  return {
    db,
    clock,
    nonces,
    probes: { check: nothing, caa: nothing },
    baseUrl: '',
    errorShape: acmeErrors(nonces),
  }
}
