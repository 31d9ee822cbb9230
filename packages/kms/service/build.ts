import { createHash } from 'node:crypto'
import {
  createFetchedCrls,
  createMaintenance,
  createPublishedStatus,
  type FetchedCrls,
  listsInWork,
} from '@warder/authority'
import { Failure, inHome, type Metrics } from '@warder/base'
import { ContentKeys, countUnfinishedGenerations, type KeyBackend, softwareBackend } from '@warder/crypto'
import { createKnownGrants, createStopSwitch, enableStores } from '@warder/external-stores'
import { externalHosts } from '@warder/external-stores/settings'
import {
  authenticateBy,
  configuredDirectory,
  configuredLogin,
  configuredOidc,
  configuredProxy,
  configuredSaml,
  configuredSteps,
  createHandoverLogin,
  type Ended,
  findAuthPublicUrl,
  forwarder,
  readEnded,
  readSharedMemory,
  userName,
} from '@warder/identity'
import {
  abeThread,
  asObjectId,
  bulkThread,
  createAliases,
  createBlocks,
  createGcmBudgets,
  createKeyRing,
  createLastUses,
  createNamedKeys,
  createNames,
  type Key,
  normalizeName,
  PastRights,
  type RestoreGate,
  withheld,
} from '@warder/keys'
import {
  createClientIssuers,
  createDeviceSightings,
  createKmipEngine,
  createKmipSocket,
  type KmipEngine,
  kmipOperations,
  readShare,
  stageFreshCeremony,
} from '@warder/kmip-server'
import { createPlainFetch, readOutboundAccess } from '@warder/outbound'
import {
  createAuditSearch,
  createHealthReader,
  createLocalAuthorityReader,
  createReceivers,
  readableDatabase,
  type ServiceEnvironment,
  type ServiceInstance,
} from '@warder/runtime'
import type { HealthPart, Operation } from '@warder/server'
import type { TransitServices } from '@warder/transit'
import { createAlias } from '../rest/aliases.ts'
import { deleteKey } from '../rest/delete-key.ts'
import { setRotation } from '../rest/key-rotation.ts'
import { rotateKey } from '../rest/rotate-key.ts'
import { acmeEnvironment } from './acme.ts'
import { configuredPolicy } from './algorithm-settings.ts'
import { closeHsms, describeHsms, getHsms, hsmHealth } from './hsms.ts'
import { rotationPolicy } from './key-life-settings.ts'
import { keyCacheMetrics } from './key-metrics.ts'
import { kmsMigrations } from './migrations.ts'
import { getNotices, kmsNotices } from './notices.ts'
import { type KmsServices, kmsOperations } from './operations.ts'
import { revocationConfig } from './pki-settings.ts'
import { admitThrough, findRestoreGate, restorePart } from './restored.ts'
import { createRoles } from './roles.ts'
import type { KmsConfig } from './settings.ts'

const maxBudgets = 100_000

/** The service in one worker; `backend` is the key backend. */
export async function build(
  environment: ServiceEnvironment<KmsConfig>,
  backend: KeyBackend = softwareBackend,
  endedMemory: SharedArrayBuffer | undefined = readSharedMemory(),
): Promise<ServiceInstance<KmsServices>> {
  const { config, db, baseUrl } = environment
  const ended = endedMemory && readEnded(endedMemory, config, environment.clock)
  const restoreGate = await findRestoreGate(environment)
  const services = createKmsServices(environment, backend, ended, restoreGate)
  const trusted = new Set([config.default_username, ...config['roles.crypto_officer_users']])
  const steps = configuredSteps({
    ...environment,
    ended,
    names: services.names,
    keyDigest: (id) => digestOfKey(services, id, trusted),
  })
  const authenticate = authenticateBy({
    steps,
    defaultUsername: config.default_username,
    forceDefaultUsername: config.force_default_username,
    admit: (principal) => services.blocks.require(principal),
    log: environment.log,
  })
  const { log, metrics, tracer, clock } = environment
  const proxied = configuredProxy(environment)
  const { peerSecret } = environment
  const authProxy = proxied === undefined ? undefined : forwarder({ ...proxied, peerSecret })
  const kmip = createKmipEngine({ services, operations: kmipOperations, log, metrics, tracer })
  queueMetrics(metrics, kmip)
  const acme = await acmeEnvironment(environment)
  return {
    services,
    authenticate,
    partnerHosts: externalHosts(config),
    admit: restoreGate && admitThrough(restoreGate),
    operations: kmsOperations({
      db,
      clock,
      baseUrl,
      kmip,
      kmipDraft: config.kmip_draft_3_0,
      acme,
      authProxy,
      transit: config.transit_enabled,
      health: createHealth(environment, ended, restoreGate),
      external: environment,
      credentials: new Set(steps.map(({ credential }) => credential)),
    }),
    async close() {
      await services.pastRights.close()
      await services.auditSearch.close()
      await services.uses.close()
      await services.sightings.close()
      await closeHsms(environment)
    },
    socket: ({ tls, rateLimiter, clientRevocation }) =>
      createKmipSocket({
        engine: kmip,
        authenticate,
        audit: environment.audit,
        tls,
        rateLimiter,
        clientRevocation,
        clock,
        log,
        metrics,
        limits: {
          messageBytes: config.body_limit_bytes,
          messageMs: config.request_timeout_ms,
          idleMs: config.socket_server_idle_timeout_ms,
          connections: config.socket_server_max_connections,
          connectionsPerAddress: config.socket_server_max_connections_per_address,
        },
      }),
  }
}

/** With the revocation feed, if the service subscribes to it. */
function createHealth(
  environment: ServiceEnvironment<KmsConfig>,
  ended: Ended | undefined,
  restoreGate: RestoreGate | undefined,
): readonly HealthPart[] {
  const { health, db, config } = environment
  const restore = restoreGate === undefined ? [] : [restorePart(restoreGate)]
  const parts = [...(health ?? [readableDatabase(db)]), ...restore, ...hsmHealth(environment)]
  if (ended === undefined) return parts
  const feed: HealthPart = {
    key: 'auth_feed',
    name: 'revocation feed',
    message: 'Revocations of the authentication service are not known at present.',
    required: config.auth_feed_when_lost === 'refuse',
    async probe() {
      if (!ended.isCurrent()) throw new Error('the revocation feed is not available')
    },
  }
  return [...parts, feed]
}

/**
 * An operation of the REST API under a path of Vault: at run time its context contains the services of all front ends.
 */
function forTransit(operation: Operation<KmsServices>): Operation<TransitServices> {
  return operation as Operation<TransitServices>
}

function createKmsServices(
  environment: ServiceEnvironment<KmsConfig>,
  backend: KeyBackend,
  ended: Ended | undefined,
  restoreGate: RestoreGate | undefined,
): KmsServices {
  const { config, home, baseUrl, outbound, db, seal, audit, clock, log, metrics, peerSecret } = environment
  const policy = configuredPolicy(config)
  const revocation = revocationConfig(config)
  const leaseMs = config.cache_lease_ms
  const capacity = config.unwrapped_cache_max_size
  const hsms = getHsms(environment)
  const keys = createKeyRing({ db, seal, clock, backend, hsms, policy, capacity, leaseMs })
  keyCacheMetrics(metrics, keys)
  const uses = createLastUses({ db, log })
  const auditSearch = createAuditSearch(environment, 'kms')
  return {
    db,
    seal,
    keyOperations: {
      rotate: forTransit(rotateKey),
      setRotation: forTransit(setRotation),
      delete: forTransit(deleteKey),
      createAlias: forTransit(createAlias),
    },
    clock,
    rotation: rotationPolicy(config),
    audit,
    auditSearch,
    healthDetails: createHealthReader(environment, {
      name: 'kms',
      migrations: kmsMigrations,
      auditSearch,
      parts: createHealth(environment, ended, restoreGate),
    }),
    pastRights: new PastRights({ db, search: auditSearch, now: () => clock.now() }),
    keys,
    restoreGate,
    budgets: createGcmBudgets(db, maxBudgets),
    uses,
    contentKeys: new ContentKeys(capacity),
    roles: createRoles(environment),
    notices: getNotices(environment),
    publicUrl: config.kms_public_url?.replace(/\/+$/, ''),
    receivers: createReceivers('kms', kmsNotices, environment),
    ceremonyShares: { stageFresh: stageFreshCeremony, read: readShare },
    describeHsms: () => describeHsms(environment),
    sightings: createDeviceSightings({ db, log }),
    clientIssuers: createClientIssuers({
      ...{ db, clock, log },
      file: config.clients_ca_cert_file && inHome(home, config.clients_ca_cert_file),
    }),
    fips: config.fips,
    policy,
    defaultUsername: config.default_username,
    forceDefaultUsername: config.force_default_username,
    ignoreHeaderPassword: config.kmip_ignore_header_password,
    kmipDraft: config.kmip_draft_3_0,
    ended,
    nameOf: (realm, username) => userName(realm, username, config.auth_verifier_realm),
    aliases: createAliases({ db, clock, leaseMs }),
    names: createNames({
      db,
      commit: db.commit,
      now: () => clock.now(),
      approvesGrants: config['approvals.operations'].includes('grant'),
    }),
    namedKeys: createNamedKeys({ db, commit: db.commit, now: () => clock.now() }),
    blocks: createBlocks({ db, clock, leaseMs: config.cache_lease_ms, normalize: normalizeName }),
    directory: configuredDirectory(config, home, peerSecret),
    passwordLogin: configuredLogin(environment, peerSecret),
    oidcLogin: configuredOidc(config, { baseUrl, outbound, seal, clock, home, log }),
    samlLogin: configuredSaml(environment, peerSecret),
    handoverLogin: createHandoverLogin(environment, peerSecret),
    authPublicUrl: findAuthPublicUrl(config),
    localAuthority: createLocalAuthorityReader(environment),
    tagSigningPairs: config.jwks_endpoint_auto_tag,
    external: {
      stopSwitch: createStopSwitch({ db, clock, leaseMs: config.cache_lease_ms }),
      grants: createKnownGrants(db),
      publicUrl: (config.kms_public_url ?? baseUrl).replace(/\/+$/, ''),
      enabled: enableStores(config, baseUrl),
    },
    revocation,
    maintenance: createMaintenance({ db, seal, keys, policy, revocation, log }),
    fetchedCrls: createCrlFetch(environment),
    requireRevocation: config.validate_requires_crl,
    published: createPublishedStatus({ db, seal, keys, clock, uses, policy, revocation, leaseMs }),
    jwksKeys: config.jwks_endpoint_enabled ? config.jwks_endpoint_max_keys : 0,
  }
}

/** Of one CRL of another authority: some 100,000 entries. */
const maxCrlBytes = 4 * 1024 * 1024
const fetchMs = 5000

/** CRLs of other authorities: they are signed, so that plain HTTP does (RFC 5280 §8). Redirects are not followed. */
function createCrlFetch({ config, home, clock }: ServiceEnvironment<KmsConfig>): FetchedCrls {
  const fetch = createPlainFetch({
    ...readOutboundAccess(config, home),
    ports: 'any',
    maxRedirects: 0,
    maxBytes: maxCrlBytes,
    timeoutMs: fetchMs,
  })
  return createFetchedCrls(fetch, clock)
}

const digests = new WeakMap<Key, Uint8Array>()

/**
 * SHA-256 of the bytes of a symmetric key that is Active now and belongs to one of `owners`. Users who may create keys
 * choose their ids, so a key of another user under the configured id is not the API token.
 */
async function digestOfKey(
  { keys, namedKeys }: Pick<KmsServices, 'keys' | 'namedKeys'>,
  id: string,
  owners: ReadonlySet<string>,
): Promise<Uint8Array | undefined> {
  const known = asObjectId(id)
  const key = known === undefined ? undefined : await keys.get(known)
  if (key === undefined || key.object.type !== 'SymmetricKey' || key.state !== 'Active') return undefined
  if (withheld(key.object) !== undefined) return undefined
  if (!owners.has(key.object.owner)) return undefined
  await namedKeys.require(key)
  const digest = digests.get(key) ?? hashMaterial(key)
  if (digest !== undefined) digests.set(key, digest)
  return digest
}

/** undefined: the object has no bytes in clear here, as a key that was registered wrapped, or is in another place. */
function hashMaterial(key: Key): Uint8Array | undefined {
  try {
    const { local } = key.held
    return local === undefined ? undefined : createHash('sha256').update(local.export()).digest()
  } catch (error) {
    if (error instanceof Failure && error.kind === 'crypto_failure') return undefined
    throw error
  }
}

/** In a worker: work that goes to a thread, or waits for a place. */
function queueMetrics(metrics: Metrics, kmip: KmipEngine): void {
  metrics.collected('queue_jobs', {
    type: 'gauge',
    help: 'Jobs that wait for a thread or a slot, or are running.',
    label: 'queue',
    read: async () => ({
      large_data: bulkThread.unfinished,
      attribute_keys: abeThread.unfinished,
      rsa_generation: countUnfinishedGenerations(),
      kmip_put_off: kmip.unfinished,
      revocation_lists: listsInWork(),
    }),
  })
}
