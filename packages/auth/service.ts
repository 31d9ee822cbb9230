import { availableParallelism } from 'node:os'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { createTokenBuckets, tokenBucketMemory } from '@warder/foundation/http'
import {
  type PeriodicWork,
  type ServiceDefinition,
  type ServiceEnvironment,
  type ServiceInstance,
  unixSeconds,
} from '@warder/foundation/runtime'
import { bootstrap } from './bootstrap.ts'
import { authenticateWith } from './callers.ts'
import { createPasswordHasher } from './credentials/index.ts'
import { createIdentityProviders } from './login/index.ts'
import { removeExpiredSecretIds } from './machines/secret-id-store.ts'
import { removeExpiredTokens } from './machines/tokens.ts'
import { authMigrations } from './migrations.ts'
import { authOperations } from './operations.ts'
import type { AuthServices } from './services.ts'
import { createSessionBook, removeEndedSessions } from './sessions/index.ts'
import { type AuthConfig, authSettings } from './settings.ts'
import { openSigner } from './signing/index.ts'
import { createAttempts, createFailureCounter, removeOldFailures } from './throttle/index.ts'
import { openThrottleKey } from './throttle/throttle-key.ts'

/** Buckets of addresses; those that share one by chance share its tokens. */
const loginSlots = 65_536
/** Worker threads inherit the environment data of the primary: all of them count in the same buckets. */
const loginBucketsKey = 'warder.auth.login-buckets'

function sharedLoginBuckets(): { readonly memory?: SharedArrayBuffer } {
  const memory = getEnvironmentData(loginBucketsKey)
  return memory instanceof SharedArrayBuffer ? { memory } : {}
}

/**
 * Password hashes of one worker at a time: unless configured, the cores are shared out among the workers, so that
 * all of them together never hash on more threads than there are cores.
 */
function hashesAtOnce(config: AuthConfig & { readonly workers?: number }): number {
  if (config.password_hash_concurrency > 0) return config.password_hash_concurrency
  const cores = availableParallelism()
  const workers = config.workers === undefined || config.workers === 0 ? cores : config.workers
  return Math.max(1, Math.floor(cores / workers))
}

async function build(environment: ServiceEnvironment<AuthConfig>): Promise<ServiceInstance<AuthServices>> {
  const { db, seal, clock, log, outbound, config, baseUrl } = environment
  const now = (): number => unixSeconds(clock)
  const sessionSigner = await openSigner(db, seal, 'session')
  const failures = createFailureCounter(db, await openThrottleKey(db, seal))
  const services: AuthServices = {
    db,
    seal,
    clock,
    outbound,
    config,
    now,
    sessions: createSessionBook({
      db,
      seal,
      signer: sessionSigner,
      clock,
      log,
      issuer: config.issuer ?? baseUrl,
    }),
    sessionSigner,
    certificateSigner: config.certificate_signing ? await openSigner(db, seal, 'certificate') : undefined,
    hasher: createPasswordHasher(hashesAtOnce(config)),
    providers: createIdentityProviders({ outbound, clock, log }),
    failures,
    attempts: createAttempts(failures, now),
    loginBuckets: createTokenBuckets({
      ratePerSecond: config.login_rate_limit_per_second,
      burst: config.login_rate_limit_burst,
      slots: loginSlots,
      clock,
      ...sharedLoginBuckets(),
    }),
  }
  return { services, authenticate: authenticateWith(services), operations: authOperations }
}

const sweeps: readonly PeriodicWork<AuthConfig>[] = [
  {
    name: 'sessions that have ended',
    everySeconds: 60,
    async run({ db, clock }) {
      await removeEndedSessions(db.commit, unixSeconds(clock))
    },
  },
  {
    name: 'expired machine tokens and secret ids',
    everySeconds: 60,
    async run({ db, clock }) {
      await removeExpiredTokens(db.commit, unixSeconds(clock))
      await removeExpiredSecretIds(db.commit, unixSeconds(clock))
    },
  },
  {
    name: 'old login failures',
    everySeconds: 300,
    async run({ db, clock }) {
      await removeOldFailures(db.commit, unixSeconds(clock))
    },
  },
]

/** The authentication service, as the runtime starts it. */
export const authService: ServiceDefinition<AuthConfig, AuthServices> = {
  name: 'auth',
  settings: authSettings,
  migrations: authMigrations,
  async prepare(environment) {
    setEnvironmentData(loginBucketsKey, tokenBucketMemory(loginSlots))
    return { notices: await bootstrap(environment) }
  },
  build,
  periodic: sweeps,
}
