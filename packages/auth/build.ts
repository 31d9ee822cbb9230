import { availableParallelism } from 'node:os'
import { unixSeconds } from '@warder/base'
import {
  type AuditSearchConfig,
  createAuditSearch,
  createHealthReader,
  createLocalAuthorityReader,
  createReceivers,
  nodeProofHeader,
  type ServiceEnvironment,
  type ServiceInstance,
} from '@warder/runtime'
import {
  type Authenticate,
  createPeerSecretCheck,
  type DocumentedCredentials,
  peerSecretHeader,
} from '@warder/server'
import { findPowers } from './admins/powers.ts'
import type { MachineCaller, SessionCaller } from './callers.ts'
import { createUsedTokens, useToken } from './machines/tokens.ts'
import { createIdentityProviders } from './methods/jwt/identity-providers.ts'
import { readPasskeyPolicy } from './methods/passkey/relying-party.ts'
import { createPasswordHasher } from './methods/password/password-hash.ts'
import { createPendingLimiter } from './methods/saml/pending-store.ts'
import {
  createConfiguredSpKeys,
  createStoredSpKeys,
  readConfiguredKeys,
  type SpKeys,
} from './methods/saml/sp-keys.ts'
import { createVerification } from './methods/saml/verification.ts'
import { authMigrations } from './migrations.ts'
import { authNotices, getNotices } from './notices.ts'
import { type AuthServices, authOperations } from './operations.ts'
import { nameIsCertain } from './realm-rules.ts'
import { createRevocationFeed } from './revocations/feed.ts'
import { readSessionCookie, sessionCookie } from './sessions/session.ts'
import { createSessionManager } from './sessions/session-manager.ts'
import type { AuthConfig } from './settings.ts'
import { registerIssuer } from './signing/signing-key-store.ts'
import { openSigner } from './signing/signing-keys.ts'
import { createAttempts, createFailureCounter, createLoginBuckets } from './throttle.ts'
import { openThrottleKey } from './throttle-store.ts'

/** Security schemes of callers, as named in openapi.yaml. `service` are the credentials of `authenticateWith`. */
const authCredentials: DocumentedCredentials = {
  schemes: {
    sessionCookie: { type: 'apiKey', in: 'cookie', name: sessionCookie },
    secretToken: { type: 'apiKey', in: 'header', name: 'X-Secret-Token' },
    vaultToken: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A machine token; for a login, a token of an identity provider of the realm.',
    },
    basic: { type: 'http', scheme: 'basic' },
    certificate: { type: 'mutualTLS' },
    peerSecret: {
      type: 'apiKey',
      in: 'header',
      name: peerSecretHeader,
      description: 'Of services of the installation.',
    },
    auditNode: { type: 'apiKey', in: 'header', name: nodeProofHeader },
  },
  service: ['sessionCookie', 'secretToken', 'vaultToken', 'bearer'],
}

/** Authenticates by session cookie, else by machine token. Invalid credentials are treated as absent. */
function authenticateWith(services: AuthServices): Authenticate {
  return async (request) => {
    const cookie = readSessionCookie(request)
    if (cookie !== undefined) {
      const presented = await services.sessions.authenticate(cookie, request.connection)
      if (presented === undefined) return undefined
      const { session, claims } = presented
      const { username, realm } = session
      const powers = () => findPowers(services.db, session, nameIsCertain)
      const caller: SessionCaller = {
        kind: 'session',
        name: username,
        method: 'session',
        realm,
        session,
        claims,
        powers,
      }
      return caller
    }
    const used = await useToken(services, request)
    if (used === undefined) return undefined
    const { token } = used
    const caller: MachineCaller = { kind: 'machine', name: token.entity, method: 'machine_token', token }
    return caller
  }
}

type Config = AuthConfig & {
  readonly workers?: number
  readonly clients_ca_cert_file?: string | undefined
  readonly fips?: boolean
}

function countWorkers({ workers }: Config): number {
  return workers === undefined || workers === 0 ? availableParallelism() : workers
}

/**
 * Returns how many password hashes one worker computes at a time. Unless configured, the cores are divided among the
 * workers, so that all workers together never use more threads than there are cores.
 */
function hashesAtOnce(config: Config): number {
  if (config.password_hash_concurrency > 0) return config.password_hash_concurrency
  return Math.max(1, Math.floor(availableParallelism() / countWorkers(config)))
}

/** Builds the service in one worker. */
export async function build(
  environment: ServiceEnvironment<AuthConfig>,
): Promise<ServiceInstance<AuthServices>> {
  const { db, seal, clock, log, metrics, outbound, config, baseUrl } = environment
  const now = (): number => unixSeconds(clock)
  const sessionSigner = await openSigner(db, seal, 'session')
  const issuer = config.issuer ?? baseUrl
  // Runs before this node signs tokens: a kms that receives such a token may ask any node of the installation
  // for the issuers.
  await registerIssuer(db, issuer, now())
  const failures = createFailureCounter(db, await openThrottleKey(db, seal))
  const samlVerification = createVerification()
  const auditSearch = createAuditSearch(
    { ...environment, config: config as AuthConfig & AuditSearchConfig },
    'auth',
  )
  const services: AuthServices = {
    db,
    seal,
    clock,
    outbound,
    config,
    metrics,
    now,
    sessions: createSessionManager({
      db,
      seal,
      signer: sessionSigner,
      clock,
      log,
      metrics,
      issuer,
    }),
    revocations: createRevocationFeed({ db, signer: sessionSigner, clock, log }),
    isPeer: createPeerSecretCheck(
      environment.peerSecret?.use((bytes) => Buffer.from(bytes).toString('utf8')),
    ),
    usedTokens: createUsedTokens(db),
    sessionSigner,
    asksForCertificates: (config as Config).clients_ca_cert_file !== undefined,
    certificateSigner: config.certificate_signing ? await openSigner(db, seal, 'certificate') : undefined,
    hasher: createPasswordHasher(hashesAtOnce(config), (config as Config).fips),
    passkeys: readPasskeyPolicy(config, environment.home, baseUrl),
    providers: createIdentityProviders({ outbound, clock, log }),
    spKeys: selectSpKeys(environment, now),
    samlVerification,
    samlPendingLimiter: createPendingLimiter(db),
    failures,
    notices: getNotices(environment),
    localAuthority: createLocalAuthorityReader(environment),
    receivers: createReceivers('auth', authNotices, environment),
    auditSearch,
    healthDetails: createHealthReader(environment, {
      name: 'auth',
      migrations: authMigrations,
      auditSearch,
    }),
    log,
    attempts: createAttempts(failures, now, countWorkers(config)),
    codeAttempts: createAttempts(failures, now, countWorkers(config)),
    loginBuckets: createLoginBuckets({
      ratePerSecond: config.login_rate_limit_per_second,
      burst: config.login_rate_limit_burst,
      clock,
    }),
  }
  metrics.collected('queue_jobs', {
    type: 'gauge',
    help: 'Jobs that are waiting for a thread or a slot, or running.',
    label: 'queue',
    read: async () => ({ passwords: services.hasher.unfinished, saml: samlVerification.unfinished }),
  })
  return {
    services,
    authenticate: authenticateWith(services),
    operations: authOperations,
    credentials: authCredentials,
    async close() {
      await services.auditSearch.close()
      samlVerification.close()
    },
  }
}

/** Uses the keys of the operator's files if configured, else those of the database. */
function selectSpKeys({ config, home, db, seal }: ServiceEnvironment<AuthConfig>, now: () => number): SpKeys {
  const own = readConfiguredKeys(home, config.saml_sp_key_files, config.saml_sp_certificate_files)
  const [first, ...others] = own
  return first === undefined
    ? createStoredSpKeys({ db, seal, now })
    : createConfiguredSpKeys([first, ...others])
}
