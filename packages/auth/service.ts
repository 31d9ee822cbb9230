import { createOwnEvent } from '@warder/audit'
import { memoizeFor, StartupError, unixSeconds } from '@warder/base'
import type { PeriodicWork, ServiceDefinition, ServiceEnvironment } from '@warder/runtime'
import { bootstrap, requireFirstPassword } from './bootstrap.ts'
import { authCounters, countSessions, countTokens } from './counting.ts'
import { removeExpiredSecretIds } from './machines/approle-store.ts'
import { removeExpiredTokens } from './machines/token-store.ts'
import { removeExpiredChallenges } from './methods/passkey/passkey-store.ts'
import { samlChecks } from './methods/saml/checks.ts'
import { pendingBounds, removeExcessPending, removeExpiredMessages } from './methods/saml/pending-store.ts'
import { listSpKeys } from './methods/saml/sp-key-store.ts'
import { ensureSpKeys } from './methods/saml/sp-keys.ts'
import { removeExpiredLinks } from './methods/totp/enrollment-link-store.ts'
import { authMigrations } from './migrations.ts'
import { authNotices } from './notices.ts'
import type { AuthServices } from './operations.ts'
import { superRealm } from './realms/realm.ts'
import { findRealm } from './realms/realm-store.ts'
import { isAnyRecovery, listRecoveries, recoveryRemoval } from './recovery-store.ts'
import { shareSubscribers } from './revocations/feed.ts'
import { sweepFeed } from './revocations/feed-store.ts'
import { countOpenSessions, removeEndedSessions } from './sessions/session-store.ts'
import { type AuthConfig, authSettings } from './settings.ts'
import { removeOldFailures, shareLoginBuckets } from './throttle.ts'

/** Counting scans an index of all sessions, so it runs only once per minute. */
const countEveryMs = 60_000

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
    name: 'recoveries of administrators that the audit log does not have yet',
    everySeconds: 2,
    due: ({ db }) => isAnyRecovery(db),
    run: recordRecoveries,
  },
  firstSpKey(),
  {
    name: 'unfinished SAML logins, and expired records of used assertions',
    everySeconds: 60,
    async run({ db, clock }) {
      await removeExpiredMessages(db.commit, unixSeconds(clock))
      await removeExcessPending(db, pendingBounds)
    },
  },
  {
    name: 'used challenges of passkeys, and expired links for enrollment',
    everySeconds: 60,
    async run({ db, clock }) {
      await removeExpiredLinks(db.commit, unixSeconds(clock))
      await removeExpiredChallenges(db.commit, unixSeconds(clock))
    },
  },
  {
    name: 'SAML metadata of realms with a metadata address',
    everySeconds: 3600,
    // Loaded on demand: the primary starts without the XML parser.
    run: async (environment) => (await import('./methods/saml/refresh.ts')).refreshMetadata(environment),
  },
  {
    name: 'revocation feed',
    everySeconds: 60,
    async run({ db, clock }) {
      await sweepFeed(db.commit, unixSeconds(clock))
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
  notices: authNotices,
  counters: { ...authCounters, auth_saml_responses_total: { outcome: ['accepted', ...samlChecks] } },
  async check({ config, home, baseUrl }) {
    refuseUnsignedNotices(config)
    // Loaded on demand: the primary starts without passkeys.
    ;(await import('./methods/passkey/relying-party.ts')).readPasskeyPolicy(config, home, baseUrl)
    if (config.saml_sp_key_files.length + config.saml_sp_certificate_files.length === 0) return
    // Loaded on demand: the primary starts without SAML.
    const { readConfiguredKeys: configuredKeys } = await import('./methods/saml/sp-keys.ts')
    configuredKeys(home, config.saml_sp_key_files, config.saml_sp_certificate_files)
  },
  async checkStored({ config, env, database }) {
    if (database === undefined || (await findRealm(database.db, superRealm)) === undefined)
      requireFirstPassword(env.WARDER_ADMIN_PASSWORD, config)
  },
  async prepare(environment) {
    shareLoginBuckets()
    shareSubscribers()
    await recordRecoveries(environment)
    return { notices: await bootstrap(environment) }
  },
  measure({ metrics, db, clock }) {
    metrics.collected('auth_sessions', {
      type: 'gauge',
      help: 'Live sessions, updated every minute.',
      read: memoizeFor(() => countOpenSessions(db, unixSeconds(clock)), countEveryMs, clock.monotonic),
    })
  },
  // Loaded by workers only: the primary needs neither the operations nor their dependencies.
  build: async (environment) => (await import('./build.ts')).build(environment),
  periodic: sweeps,
}

/** @throws StartupError for notices that their receiver could not verify */
function refuseUnsignedNotices({ notice_webhook_url: url, notice_webhook_secret: secret }: AuthConfig): void {
  if ((url === undefined) !== (secret === undefined))
    throw new StartupError('notices require both notice_webhook_url and notice_webhook_secret, or neither')
  if (secret !== undefined && secret.length < 32)
    throw new StartupError(
      'notice_webhook_secret must have at least 32 characters: create one with openssl rand -hex 32',
    )
}

/** Writes the recoveries that a command committed to the audit log, and then deletes them. */
async function recordRecoveries({
  db,
  seal,
  clock,
  audit,
  log,
}: Pick<ServiceEnvironment<unknown>, 'db' | 'seal' | 'clock' | 'audit' | 'log'>): Promise<void> {
  for (const { id, at, realm, username, ...details } of await listRecoveries(db, seal)) {
    log.warn({ realm, username, ...details }, 'an administrator was recovered: warder admin recover')
    await audit.recordDurably({
      ...createOwnEvent(clock.now(), 'admin.recovered'),
      realm,
      object: username,
      details: { ...details, at: new Date(at).toISOString() },
    })
    await db.commit([recoveryRemoval(id)])
  }
}

/**
 * Generates the key of the service provider after the first start, in the background: it takes half a second of CPU
 * time. Does nothing when the keys are files of the operator, and makes no more queries once a key exists.
 */
export function firstSpKey(): PeriodicWork<{ readonly saml_sp_key_files: readonly string[] }> {
  let isThere = false
  return {
    name: 'key of the SAML service provider',
    everySeconds: 2,
    async due({ db, config }) {
      if (isThere || config.saml_sp_key_files.length > 0) return false
      isThere = (await listSpKeys(db)).length > 0
      return !isThere
    },
    async run({ db, seal, clock }) {
      await ensureSpKeys({ db, seal, now: () => unixSeconds(clock) })
    },
  }
}
