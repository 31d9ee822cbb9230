import { createMaintenance, type Maintenance, type RenewalServices } from '@warder/authority'
import { createAliases, createKeyRing, createLastUses } from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import type { Database } from '@warder/storage'
import { configuredPolicy } from './algorithm-settings.ts'
import { getHsms } from './hsms.ts'
import { keyCacheMetrics } from './key-metrics.ts'
import { revocationConfig } from './pki-settings.ts'
import { createRoles } from './roles.ts'
import type { KmsConfig } from './settings.ts'

/** One per database, so that keys are decrypted once. */
const renewals = new WeakMap<Database, RenewalServices>()

/** Services of the renewals that the primary does outside of requests. */
export function getRenewalServices(environment: ServiceEnvironment<KmsConfig>): RenewalServices {
  const { config, db, seal, audit, clock, log, metrics } = environment
  const known = renewals.get(db)
  if (known !== undefined) return known
  const policy = configuredPolicy(config)
  const leaseMs = config.cache_lease_ms
  const capacity = config.unwrapped_cache_max_size
  const keys = createKeyRing({ db, seal, clock, hsms: getHsms(environment), policy, capacity, leaseMs })
  keyCacheMetrics(metrics, keys)
  const services: RenewalServices = {
    db,
    seal,
    keys,
    clock,
    audit,
    log,
    metrics,
    policy,
    revocation: revocationConfig(config),
    roles: createRoles(environment),
    aliases: createAliases({ db, clock, leaseMs }),
    uses: createLastUses({ db, log }),
  }
  renewals.set(db, services)
  return services
}

/** One per database, so that keys are decrypted once. */
const maintenances = new WeakMap<Database, Maintenance>()

/** Max decrypted keys of authorities in the primary: few sign at the same time. */
const maxKeys = 64

/** Signs for the authorities outside of requests. */
export function getMaintenance(environment: ServiceEnvironment<KmsConfig>): Maintenance {
  const { config, db, seal, clock, log } = environment
  const known = maintenances.get(db)
  if (known !== undefined) return known
  const policy = configuredPolicy(config)
  const hsms = getHsms(environment)
  const leaseMs = config.cache_lease_ms
  const keys = createKeyRing({ db, seal, clock, hsms, policy, capacity: maxKeys, leaseMs })
  const maintenance = createMaintenance({ db, seal, keys, policy, revocation: revocationConfig(config), log })
  maintenances.set(db, maintenance)
  return maintenance
}
