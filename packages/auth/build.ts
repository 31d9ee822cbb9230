import { availableParallelism } from 'node:os'
import { unixSeconds } from '@warder/base'
import type { ServiceEnvironment, ServiceInstance } from '@warder/runtime'
import { createPeerSecretCheck } from '@warder/server'
import { authenticateWith } from './authenticate.ts'
import { createUsedTokens } from './machines/tokens.ts'
import { createIdentityProviders } from './methods/jwt/identity-providers.ts'
import { createPasswordHasher } from './methods/password/password-hash.ts'
import { readConfiguredKeys } from './methods/saml/keys/configured-keys.ts'
import { createConfiguredSpKeys, createStoredSpKeys, type SpKeys } from './methods/saml/keys/sp-keys.ts'
import { createPendingLimiter } from './methods/saml/store/pending-limiter.ts'
import { createVerification } from './methods/saml/thread/verification.ts'
import { authOperations } from './operations.ts'
import { createRevocationFeed } from './revocations/feed.ts'
import { authCredentials } from './security-schemes.ts'
import type { AuthServices } from './services.ts'
import { createSessionManager } from './sessions/session-manager.ts'
import type { AuthConfig } from './settings.ts'
import { registerIssuer } from './signing/issuer-store.ts'
import { openSigner } from './signing/signing-keys.ts'
import { createAttempts } from './throttle/attempts.ts'
import { createFailureCounter } from './throttle/failures.ts'
import { createLoginBuckets } from './throttle/login-buckets.ts'
import { openThrottleKey } from './throttle/throttle-key-store.ts'

type Config = AuthConfig & { readonly workers?: number; readonly clients_ca_cert_file?: string | undefined }

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
    hasher: createPasswordHasher(hashesAtOnce(config)),
    providers: createIdentityProviders({ outbound, clock, log }),
    spKeys: selectSpKeys(environment, now),
    samlVerification,
    samlPendingLimiter: createPendingLimiter(db),
    failures,
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
    close: async () => samlVerification.close(),
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
