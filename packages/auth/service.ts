import { setEnvironmentData } from 'node:worker_threads'
import { tokenBucketMemory } from '@warder/foundation/http/rate-limit'
import { type PeriodicWork, type ServiceDefinition, unixSeconds } from '@warder/foundation/runtime'
import { bootstrap } from './bootstrap.ts'
import { countSessions, countTokens } from './counting/index.ts'
import { removeExpiredSecretIds } from './machines/secret-id-store.ts'
import { removeExpiredTokens } from './machines/tokens.ts'
import { authMigrations } from './migrations.ts'
import type { AuthServices } from './services.ts'
import { removeEndedSessions } from './sessions/index.ts'
import { type AuthConfig, authSettings } from './settings.ts'
import { removeOldFailures } from './throttle/index.ts'

/** Buckets of addresses; those that share one by chance share its tokens. */
export const loginSlots = 65_536
/** Worker threads inherit the environment data of the primary: all of them count in the same buckets. */
export const loginBucketsKey = 'warder.auth.login-buckets'

const sweeps: readonly PeriodicWork<AuthConfig>[] = [
  {
    name: 'sessions that have ended',
    everySeconds: 60,
    async run({ db, clock, metrics }) {
      countSessions(metrics, 'swept', await removeEndedSessions(db.commit, unixSeconds(clock)))
    },
  },
  {
    name: 'expired machine tokens and secret ids',
    everySeconds: 60,
    async run({ db, clock, metrics }) {
      countTokens(metrics, 'swept', await removeExpiredTokens(db.commit, unixSeconds(clock)))
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
  // Loaded by workers only: the primary needs neither the operations nor what they stand on.
  build: async (environment) => (await import('./build.ts')).build(environment),
  periodic: sweeps,
}
