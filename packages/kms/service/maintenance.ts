import { createMaintenance, type Maintenance } from '@warder/authority'
import { createKeyRing } from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import type { Database } from '@warder/storage'
import { configuredPolicy } from './algorithm-settings.ts'
import { revocationConfig } from './pki-settings.ts'
import type { KmsConfig } from './settings.ts'

/** One per database, so that keys are decrypted once. */
const made = new WeakMap<Database, Maintenance>()

/** Max decrypted keys of authorities in the primary: few sign at the same time. */
const maxKeys = 64

/** Signs for the authorities outside of requests. */
export function getMaintenance({ config, db, seal, clock, log }: ServiceEnvironment<KmsConfig>): Maintenance {
  const known = made.get(db)
  if (known !== undefined) return known
  const policy = configuredPolicy(config)
  const keys = createKeyRing({ db, seal, clock, policy, capacity: maxKeys, leaseMs: config.cache_lease_ms })
  const maintenance = createMaintenance({ db, seal, keys, policy, revocation: revocationConfig(config), log })
  made.set(db, maintenance)
  return maintenance
}
