import { createHash } from 'node:crypto'
import { StartupError } from '@warder/foundation/errors'
import type { ServiceDefinition, ServiceEnvironment } from '@warder/foundation/runtime'
import { authenticateBy, configuredExtractors, configuredLogin } from './identity/index.ts'
import { kmsMigrations } from './migrations.ts'
import {
  asObjectId,
  createGcmBudgets,
  createKeyRing,
  type Key,
  type KeyRing,
  lifeCycleChanges,
  overdueObjects,
  stateAt,
} from './objects/index.ts'
import { type KmsServices, kmsOperations } from './rest/index.ts'
import { type KmsConfig, kmsSettings } from './settings.ts'

const mostBudgets = 100_000

/** The key management service, as the runtime starts it. */
export const kmsService: ServiceDefinition<KmsConfig, KmsServices> = {
  name: 'kms',
  settings: kmsSettings,
  migrations: kmsMigrations,
  async prepare({ config, log }) {
    refuseContradictions(config)
    if (config['roles.crypto_officer_users'].length > 0) {
      log.warn({}, 'crypto officers are named by configuration alone: who can write it can become one')
    }
    return { notices: [] }
  },
  async build(environment) {
    const { config, db, baseUrl } = environment
    const services = servicesOf(environment)
    const authenticate = authenticateBy({
      extractors: configuredExtractors({
        ...environment,
        keyDigest: (id) => digestOfKey(services.keys, id),
      }),
      defaultUsername: config.default_username,
      forceDefaultUsername: config.force_default_username,
    })
    return {
      services,
      authenticate,
      operations: kmsOperations({ db, clock: environment.clock, baseUrl }),
    }
  },
  periodic: [{ name: 'kms dates of keys', everySeconds: 60, run: persistDates }],
}

/** Combinations that cannot be meant. @throws StartupError */
function refuseContradictions(config: KmsConfig): void {
  if (config.force_default_username && config['roles.crypto_officer_users'].length > 0) {
    throw new StartupError(
      'force_default_username makes everybody one user: it cannot be used with roles.crypto_officer_users',
    )
  }
}

function servicesOf({ config, home, db, seal, audit, clock }: ServiceEnvironment<KmsConfig>): KmsServices {
  return {
    db,
    seal,
    clock,
    audit,
    keys: createKeyRing({
      db,
      seal,
      clock,
      capacity: config.unwrapped_cache_max_size,
      leaseMs: config.cache_lease_ms,
    }),
    budgets: createGcmBudgets(db, mostBudgets),
    roles: { cryptoOfficers: new Set(config['roles.crypto_officer_users']) },
    fips: config.fips,
    defaultUsername: config.default_username,
    passwordLogin: configuredLogin(config, home),
    tagSigningPairs: config.jwks_endpoint_auto_tag,
    jwksKeys: config.jwks_endpoint_enabled ? config.jwks_endpoint_max_keys : 0,
  }
}

const digests = new WeakMap<Key, Uint8Array>()

/** SHA-256 of the bytes of a symmetric key that is Active now. */
async function digestOfKey(keys: KeyRing, id: string): Promise<Uint8Array | undefined> {
  const known = asObjectId(id)
  const key = known === undefined ? undefined : await keys.get(known)
  if (key === undefined || key.object.type !== 'SymmetricKey' || key.state !== 'Active') return undefined
  const digest = digests.get(key) ?? createHash('sha256').update(key.material.key.export()).digest()
  digests.set(key, digest)
  return digest
}

const overduePerRun = 1000

/** Writes down the states that dates have brought about; they hold before that, see `stateAt`. */
async function persistDates({ db, clock, log }: ServiceEnvironment<KmsConfig>): Promise<void> {
  const now = clock.now()
  for (const object of await overdueObjects(db, now, overduePerRun)) {
    const state = stateAt(object, now)
    await db.commit(lifeCycleChanges(db, object, { ...object, state }, now)).catch((error: unknown) => {
      // Somebody changed it meanwhile: the next run looks again.
      log.debug({ object: object.id, detail: String(error) }, 'a state was not written down')
    })
  }
}
